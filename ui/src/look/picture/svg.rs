//! The screen as a drawing: backgrounds, drawn signs, and runs of text with their places. Blocks,
//! lines and Braille are drawn instead of set as text, so that they join with any font.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Modifier;

use super::{rows, signs};
use crate::look::{Rgb, Styles, looks};
use crate::text::format;

/// The margin around the screen.
const MARGIN: f64 = 12.0;
/// The distance from a row's top to its baseline.
const BASE: f64 = 13.6;

/// The look of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ink {
    front: Rgb,
    modifiers: Modifier,
}

/// The shapes, grouped by colour to keep the file small.
#[derive(Default)]
struct Drawing {
    grounds: BTreeMap<Rgb, String>,
    drawn: BTreeMap<(Rgb, GlyphKind), String>,
    texts: String,
}

/// Returns the screen as an SVG file, on the theme's background.
pub fn svg(screen: &Buffer, styles: &Styles) -> String {
    let mut drawing = Drawing::default();
    for (y, row) in rows(screen).enumerate() {
        drawing.row(row, u16::try_from(y).unwrap_or(u16::MAX), styles);
    }
    let width = f64::from(screen.area.width) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(screen.area.height) * CELL.1 + 2.0 * MARGIN;
    let (w, h, ground) = (n(width), n(height), hex(styles.ground));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{ground}\"/>\n\
         <g transform=\"translate({m} {m})\" font-family=\"ui-monospace,SFMono-Regular,Menlo,\
         Consolas,'DejaVu Sans Mono',monospace\" font-size=\"14\" xml:space=\"preserve\">\n\
         {}</g>\n</svg>\n",
        drawing.finish(),
        m = n(MARGIN),
    )
}

impl Drawing {
    fn row(&mut self, row: &[Cell], y: u16, styles: &Styles) {
        let placed: Vec<(u16, &Cell)> = signs(row).collect();
        let mut at = 0;
        while let Some(&(x, cell)) = placed.get(at) {
            let (ink, behind) = inks(cell, styles);
            let alike = |(_, other): &&(u16, &Cell)| {
                inks(other, styles) == (ink, behind) && joins(cell.symbol(), other.symbol())
            };
            let count = placed[at..].iter().take_while(alike).count().max(1);
            let run = &placed[at..at + count];
            let columns: u16 = run
                .iter()
                .map(|(_, c)| format::width(c.symbol()).max(1))
                .sum();
            if behind != styles.ground {
                let path = glyph_path('█', x, y, columns).map(|(_, path)| path);
                self.grounds
                    .entry(behind)
                    .or_default()
                    .push_str(&path.unwrap_or_default());
            }
            let text: String = run.iter().map(|(_, c)| c.symbol()).collect();
            self.run(&text, x, y, columns, ink);
            at += count;
        }
    }

    fn run(&mut self, text: &str, x: u16, y: u16, columns: u16, ink: Ink) {
        if text.trim().is_empty() && !ink.modifiers.contains(Modifier::UNDERLINED) {
            return;
        }
        let mut signs = text.chars();
        let first = signs.next().unwrap_or(' ');
        if let Some((kind, path)) = glyph_path(first, x, y, columns)
            && signs.all(|c| c == first)
        {
            let key = (ink.front, kind);
            return self.drawn.entry(key).or_default().push_str(&path);
        }
        // Leading and trailing blanks are left out.
        let blank = text.chars().take_while(|c| *c == ' ').count() as u16;
        let text = text.trim_matches(' ');
        let left = f64::from(x + blank) * CELL.0;
        let base = f64::from(y) * CELL.1 + BASE;
        let long = f64::from(format::width(text)) * CELL.0;
        self.texts += &format!(
            "<text x=\"{}\" y=\"{}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{}>{}</text>\n",
            n(left),
            n(base),
            n(long),
            hex(ink.front),
            attributes(ink.modifiers),
            escaped(text),
        );
    }

    fn finish(self) -> String {
        let mut text = String::new();
        for (colour, path) in self.grounds {
            text += &format!("<path fill=\"{}\" d=\"{path}\"/>\n", hex(colour));
        }
        for ((colour, kind), path) in self.drawn {
            let colour = hex(colour);
            text += &match kind {
                GlyphKind::Fill(100) => format!("<path fill=\"{colour}\" d=\"{path}\"/>\n"),
                GlyphKind::Fill(share) => format!(
                    "<path fill=\"{colour}\" fill-opacity=\"{}\" d=\"{path}\"/>\n",
                    n(f64::from(share) / 100.0)
                ),
                GlyphKind::Line => {
                    format!("<path fill=\"none\" stroke=\"{colour}\" d=\"{path}\"/>\n")
                }
                GlyphKind::Dots => format!(
                    "<path stroke=\"{colour}\" stroke-width=\"2.6\" stroke-linecap=\"round\" d=\"{path}\"/>\n"
                ),
            };
        }
        text + &self.texts
    }
}

/// Returns whether two characters belong to one run. Drawn signs join only their like. Non-ASCII
/// characters stand alone, since their font may have another width.
fn joins(first: &str, next: &str) -> bool {
    first == next || first.is_ascii() && next.is_ascii()
}

fn inks(cell: &Cell, styles: &Styles) -> (Ink, Rgb) {
    let front = looks(cell.fg).unwrap_or(styles.ink);
    let behind = looks(cell.bg).unwrap_or(styles.ground);
    let modifiers = cell.modifier - Modifier::REVERSED;
    match cell.modifier.contains(Modifier::REVERSED) {
        true => (
            Ink {
                front: behind,
                modifiers,
            },
            front,
        ),
        false => (Ink { front, modifiers }, behind),
    }
}

fn attributes(modifiers: Modifier) -> String {
    let all = [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::DIM, " opacity=\".6\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        (Modifier::CROSSED_OUT, " text-decoration=\"line-through\""),
    ];
    let set = all.iter().filter(|(m, _)| modifiers.contains(*m));
    set.map(|(_, text)| *text).collect()
}

fn hex((r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The width and height of a cell.
const CELL: (f64, f64) = (8.4, 18.0);

/// The way to draw a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum GlyphKind {
    /// Filled areas, with this percentage of the colour.
    Fill(u8),
    /// Thin lines.
    Line,
    /// Round dots.
    Dots,
}

/// Returns the path of a sign at column `x` and row `y`, repeated `count` times, or `None` for
/// signs set by the font.
fn glyph_path(sign: char, x: u16, y: u16, count: u16) -> Option<(GlyphKind, String)> {
    let at = (f64::from(x) * CELL.0, f64::from(y) * CELL.1);
    let wide = f64::from(count) * CELL.0;
    if let Some((kind, area)) = block(sign) {
        // Parts of a cell's width do not join, so each is drawn separately.
        let joins = area.0 == 0.0 && area.2 == 1.0;
        let steps = if joins { 1 } else { count };
        let width = if joins { wide } else { CELL.0 * area.2 };
        let left = |i: u16| at.0 + f64::from(i) * CELL.0 + area.0 * CELL.0;
        let top = at.1 + area.1 * CELL.1;
        let each = (0..steps).map(|i| rectangle(left(i), top, width, area.3 * CELL.1));
        return Some((kind, each.collect()));
    }
    if let '\u{2800}'..='\u{28ff}' = sign {
        let each = (0..count).map(|i| dots(sign, at.0 + f64::from(i) * CELL.0, at.1));
        return Some((GlyphKind::Dots, each.collect()));
    }
    let each: Option<String> = match sign {
        '─' => Some(format!("M{} {}h{}", n(at.0), n(at.1 + 9.0), n(wide))),
        _ => {
            let drawn = (0..count).map(|i| line(sign, at.0 + f64::from(i) * CELL.0, at.1));
            drawn.collect()
        }
    };
    each.map(|path| (GlyphKind::Line, path))
}

/// Returns the part of a cell covered by a block: left, top, width and height, as shares.
fn block(sign: char) -> Option<(GlyphKind, (f64, f64, f64, f64))> {
    let full = (0.0, 0.0, 1.0, 1.0);
    let code = sign as u32;
    Some(match sign {
        '░' => (GlyphKind::Fill(25), full),
        '▒' => (GlyphKind::Fill(50), full),
        '▓' => (GlyphKind::Fill(75), full),
        '▀' => (GlyphKind::Fill(100), (0.0, 0.0, 1.0, 0.5)),
        '▐' => (GlyphKind::Fill(100), (0.5, 0.0, 0.5, 1.0)),
        '▁'..='█' => {
            let share = f64::from(code - 0x2580) / 8.0;
            (GlyphKind::Fill(100), (0.0, 1.0 - share, 1.0, share))
        }
        '▉'..='▏' => {
            let share = f64::from(0x2590 - code) / 8.0;
            (GlyphKind::Fill(100), (0.0, 0.0, share, 1.0))
        }
        _ => return None,
    })
}

fn rectangle(x: f64, y: f64, width: f64, height: f64) -> String {
    let (w, h) = (n(width), n(height));
    format!("M{} {}h{w}v{h}h-{w}z", n(x), n(y))
}

/// Returns the dots of a Braille sign, in two columns of four.
fn dots(sign: char, x: f64, y: f64) -> String {
    let bits = (sign as u32) & 0xff;
    // The bits in the order of the columns: 1 2 3 7, 4 5 6 8.
    let places = [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
        (1, 2),
        (0, 3),
        (1, 3),
    ];
    let mut path = String::new();
    for (bit, (column, row)) in places.into_iter().enumerate() {
        if bits & (1 << bit) != 0 {
            let (dx, dy) = (2.1 + f64::from(column) * 4.2, 2.25 + f64::from(row) * 4.5);
            // Writing to a string cannot fail.
            let _ = write!(path, "M{} {}h0", n(x + dx), n(y + dy));
        }
    }
    path
}

/// Returns the lines of frames, through the middle of the cell.
fn line(sign: char, x: f64, y: f64) -> Option<String> {
    let (cx, cy) = (n(x + CELL.0 / 2.0), n(y + CELL.1 / 2.0));
    let (right, bottom) = (n(x + CELL.0), n(y + CELL.1));
    let (left, top) = (n(x), n(y));
    Some(match sign {
        '│' => format!("M{cx} {top}V{bottom}"),
        '╭' => format!("M{right} {cy}Q{cx} {cy} {cx} {bottom}"),
        '╮' => format!("M{left} {cy}Q{cx} {cy} {cx} {bottom}"),
        '╰' => format!("M{right} {cy}Q{cx} {cy} {cx} {top}"),
        '╯' => format!("M{left} {cy}Q{cx} {cy} {cx} {top}"),
        '┼' => format!("M{cx} {top}V{bottom}M{left} {cy}H{right}"),
        '├' => format!("M{cx} {top}V{bottom}M{cx} {cy}H{right}"),
        '┤' => format!("M{cx} {top}V{bottom}M{cx} {cy}H{left}"),
        '┬' => format!("M{cx} {cy}V{bottom}M{left} {cy}H{right}"),
        '┴' => format!("M{cx} {top}V{cy}M{left} {cy}H{right}"),
        _ => return None,
    })
}

/// Formats a number without trailing zeros: `8.4`, `18`.
fn n(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
