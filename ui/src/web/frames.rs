//! Turns pictures into frames: the cells that differ from the picture that the page has.

use std::collections::HashMap;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use ratatui::text::Span;

use super::message::{CellRun, CellStyle, PageFrame};
use crate::look::{Rgb, Styles, looks};

/// The number of styles after which the page begins again.
const STYLES: usize = 4096;
/// The longest run of unchanged cells that is sent with its neighbours: shorter than another run.
const GAP: usize = 6;
/// The bits of a style, in their order.
const BITS: [Modifier; 5] = [
    Modifier::BOLD,
    Modifier::DIM,
    Modifier::ITALIC,
    Modifier::UNDERLINED,
    Modifier::CROSSED_OUT,
];

/// The look of a cell without its symbol.
type CellLook = (Color, Color, Modifier);

/// Makes the frames of one page.
#[derive(Debug, Default)]
pub(super) struct FrameMaker {
    /// The picture that the page has, once it has one.
    sent: Option<Buffer>,
    styles: HashMap<CellLook, usize>,
    ground: Option<(Rgb, Rgb)>,
    number: u64,
}

impl FrameMaker {
    /// Returns the frame that turns the page's picture into this one, or `None` if they are equal.
    pub(super) fn frame(&mut self, picture: &Buffer, styles: &Styles) -> Option<PageFrame> {
        let colours = (styles.ground, styles.ink);
        let ground = (self.ground != Some(colours)).then_some(colours);
        if ground.is_some() || self.styles.len() > STYLES {
            self.begin_again();
        }
        self.ground = Some(colours);
        let area = *picture.area();
        let before = self.sent.take().filter(|sent| *sent.area() == area);
        let mut frame = PageFrame {
            size: before.is_none().then_some((area.width, area.height)),
            ground: ground.map(|(ground, ink)| (css(ground), css(ink))),
            ..PageFrame::default()
        };
        let before = before.unwrap_or_else(|| Buffer::empty(area));
        self.rows(&before, picture, &mut frame, colours);
        self.sent = Some(picture.clone());
        let differs = frame.size.is_some() || !frame.runs.is_empty();
        differs.then(|| self.numbered(frame))
    }

    /// Forgets the picture and the styles of the page.
    fn begin_again(&mut self) {
        self.sent = None;
        self.styles.clear();
    }

    fn numbered(&mut self, frame: PageFrame) -> PageFrame {
        self.number += 1;
        let number = self.number;
        PageFrame { number, ..frame }
    }

    fn rows(&mut self, before: &Buffer, now: &Buffer, frame: &mut PageFrame, colours: (Rgb, Rgb)) {
        let Rect { width, height, .. } = *now.area();
        let width = usize::from(width);
        let rows = before.content.chunks(width).zip(now.content.chunks(width));
        for (row, (old, new)) in (0..height).zip(rows) {
            for (from, to) in changed(old, new) {
                self.run(row, from, &new[from..to], frame, colours);
            }
        }
    }

    /// Adds neighbouring cells, as a run for each style and each wide symbol.
    fn run(
        &mut self,
        row: u16,
        at: usize,
        cells: &[Cell],
        frame: &mut PageFrame,
        colours: (Rgb, Rgb),
    ) {
        let mut column = at;
        for part in cells.chunk_by(|a, b| look(a) == look(b)) {
            let style = self.style(look_of(part), frame, colours);
            add_symbols(row, column, style, part, &mut frame.runs);
            column += part.len();
        }
    }

    /// Returns the number of a style, which is added to the frame if the page does not know it.
    fn style(&mut self, look: CellLook, frame: &mut PageFrame, colours: (Rgb, Rgb)) -> usize {
        let next = self.styles.len();
        *self.styles.entry(look).or_insert_with(|| {
            frame.styles.push(cell_style(next, look, colours));
            next
        })
    }
}

fn look(cell: &Cell) -> CellLook {
    (cell.fg, cell.bg, cell.modifier)
}

fn look_of(cells: &[Cell]) -> CellLook {
    cells
        .first()
        .map_or((Color::Reset, Color::Reset, Modifier::empty()), look)
}

/// Returns the changed ranges of a row. Short gaps in one style are part of a range.
fn changed(old: &[Cell], new: &[Cell]) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for at in (0..new.len()).filter(|at| differs(old, new, *at)) {
        match ranges.last_mut() {
            Some((_, to)) if is_short(&new[*to..at], look(&new[*to - 1])) => *to = at + 1,
            _ => ranges.push((at, at + 1)),
        }
    }
    let begin = |from: usize| {
        if from > 0 && width(&new[from - 1]) > 1 {
            from - 1
        } else {
            from
        }
    };
    // A wide symbol is sent with both of its cells.
    ranges
        .iter()
        .map(|(from, to)| (begin(*from), *to))
        .collect()
}

/// Returns whether the page needs the cell. The second cell of a former wide symbol is one.
fn differs(old: &[Cell], new: &[Cell], at: usize) -> bool {
    let is_new = |at: usize| old[at] != new[at];
    is_new(at) || (at > 0 && is_new(at - 1) && width(&old[at - 1]) > 1)
}

fn is_short(gap: &[Cell], style: CellLook) -> bool {
    gap.len() <= GAP && gap.iter().all(|cell| look(cell) == style)
}

fn width(cell: &Cell) -> usize {
    match cell.symbol().is_ascii() {
        true => 1,
        false => Span::raw(cell.symbol()).width(),
    }
}

/// Adds runs for cells of one style.
fn add_symbols(row: u16, from: usize, style: usize, cells: &[Cell], runs: &mut Vec<CellRun>) {
    let place = |at: usize| u16::try_from(from + at).unwrap_or(u16::MAX);
    let (mut text, mut begin, mut at) = (String::new(), 0, 0);
    while let Some(cell) = cells.get(at) {
        let wide = width(cell).max(1);
        if wide == 1 && is_one_sign(cell.symbol()) {
            text.push_str(cell.symbol());
            at += 1;
            continue;
        }
        if !text.is_empty() {
            runs.push(CellRun::Plain(
                row,
                place(begin),
                style,
                std::mem::take(&mut text),
            ));
        }
        let symbol = cell.symbol().to_owned();
        runs.push(CellRun::Wide(row, place(at), style, symbol, wide as u16));
        at += wide;
        begin = at;
    }
    if !text.is_empty() {
        runs.push(CellRun::Plain(row, place(begin), style, text));
    }
}

fn is_one_sign(symbol: &str) -> bool {
    let mut signs = symbol.chars();
    signs.next().is_some() && signs.next().is_none()
}

/// Returns a style for the page, whose own colours are `ground` and `ink`.
fn cell_style(number: usize, look: CellLook, (ground, ink): (Rgb, Rgb)) -> CellStyle {
    let (front, behind, modifiers) = look;
    let (mut front, mut behind) = (looks(front), looks(behind));
    if modifiers.contains(Modifier::REVERSED) {
        (front, behind) = (behind.or(Some(ground)), front.or(Some(ink)));
    }
    if modifiers.contains(Modifier::HIDDEN) {
        front = behind.or(Some(ground));
    }
    let bits = BITS.iter().enumerate();
    let bits = bits.filter(|(_, bit)| modifiers.contains(**bit));
    let bits = bits.fold(0, |all, (at, _)| all | 1 << at);
    CellStyle(number, front.map(css), behind.map(css), bits)
}

fn css((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
