//! Drawing within an area: every call is clipped, for any size. Curves consist of dots, two columns
//! and four rows per cell.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Role;
use super::theme::Styles;
use crate::text::format;

/// The heights of a bar in one cell, from none to eight eighths.
pub(crate) const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// An area of the screen; places count from its upper left corner.
pub struct Painter<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    styles: &'a Styles,
}

impl<'a> Painter<'a> {
    /// Creates a painter for the part of `area` on the screen.
    pub fn new(buffer: &'a mut Buffer, area: Rect, styles: &'a Styles) -> Self {
        let area = area.intersection(*buffer.area());
        Painter {
            buffer,
            area,
            styles,
        }
    }

    /// Returns the width in columns.
    pub fn width(&self) -> u16 {
        self.area.width
    }

    /// Returns the height in rows.
    pub fn height(&self) -> u16 {
        self.area.height
    }

    /// Returns a painter for a part, given in this painter's coordinates.
    pub fn part(&mut self, x: u16, y: u16, width: u16, height: u16) -> Painter<'_> {
        let part = Rect {
            x: self.area.x.saturating_add(x),
            y: self.area.y.saturating_add(y),
            width,
            height,
        };
        let area = part.intersection(self.area);
        Painter::new(self.buffer, area, self.styles)
    }

    /// Returns a painter for a cleared part in the middle.
    pub fn centred(&mut self, width: u16, height: u16) -> Painter<'_> {
        let (width, height) = (width.min(self.width()), height.min(self.height()));
        let x = (self.width() - width) / 2;
        let y = (self.height() - height) / 2;
        let mut part = self.part(x, y, width, height);
        part.erase();
        part
    }

    /// Writes text, cut at the right edge, and returns the column after it.
    pub fn text(&mut self, x: u16, y: u16, text: &str, role: Role) -> u16 {
        let after = x.saturating_add(format::width(text));
        if x >= self.area.width || y >= self.area.height {
            return after;
        }
        let room = self.area.width - x;
        let style = self.styles.role_style(role);
        let (x, y) = (self.area.x + x, self.area.y + y);
        self.buffer
            .set_stringn(x, y, text, usize::from(room), style);
        after
    }

    /// Writes a character of one column, without measuring text, to fill pictures.
    pub fn sign(&mut self, x: u16, y: u16, sign: &str, role: Role) {
        if x >= self.area.width || y >= self.area.height {
            return;
        }
        let place = (self.area.x + x, self.area.y + y);
        if let Some(cell) = self.buffer.cell_mut(place) {
            // Removes the covered content completely.
            cell.reset();
            cell.set_symbol(sign)
                .set_style(self.styles.role_style(role));
        }
    }

    /// Writes text that ends before column `end`.
    pub fn text_right(&mut self, end: u16, y: u16, text: &str, role: Role) {
        self.text(end.saturating_sub(format::width(text)), y, text, role);
    }

    /// Writes pieces one after another and returns the column after the last.
    pub fn pieces(&mut self, mut x: u16, y: u16, pieces: &[(&str, Role)]) -> u16 {
        for (text, role) in pieces {
            x = self.text(x, y, text, *role);
        }
        x
    }

    /// Writes a line of pieces and returns the column after it.
    pub fn line(&mut self, x: u16, y: u16, line: &[(String, Role)]) -> u16 {
        line.iter()
            .fold(x, |x, (text, role)| self.text(x, y, text, *role))
    }

    /// Writes keys with a word each, some columns apart, and returns the column after the last.
    pub fn keys(&mut self, mut x: u16, y: u16, apart: usize, keys: &[(&str, &str)]) -> u16 {
        let last = keys.len().saturating_sub(1);
        for (at, (key, word)) in keys.iter().enumerate() {
            let gap = if at < last { apart } else { 0 };
            let word = format!(" {word}{:gap$}", "");
            x = self.pieces(x, y, &[(key, Role::Accent), (&word, Role::Dim)]);
        }
        x
    }

    /// Changes the style of cells of one row and keeps their text.
    pub fn restyle(&mut self, x: u16, y: u16, width: u16, role: Role) {
        let style = self.styles.role_style(role);
        let area = self.part(x, y, width, 1).area;
        self.buffer.set_style(area, style);
    }

    /// Clears the area.
    pub fn erase(&mut self) {
        for position in self.area.positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                cell.reset();
            }
        }
    }

    /// Writes the same character into `width` cells of a row.
    pub fn run(&mut self, x: u16, y: u16, width: u16, sign: &str, role: Role) {
        for x in x..x.saturating_add(width).min(self.area.width) {
            self.sign(x, y, sign, role);
        }
    }

    /// Returns whether only ASCII characters are drawn.
    pub fn is_ascii(&self) -> bool {
        self.styles.ascii
    }

    /// Draws a title, its note, and a rule over the rest of the first row.
    pub fn ruled(&mut self, title: &str, note: &str, focused: bool) {
        let end = self.width().saturating_sub(1);
        let edge = FrameLook::new(focused);
        let x = self.titled(1, title, note, edge.name) + 1;
        self.run(x, 0, end.saturating_sub(x), edge.across, edge.role);
    }

    /// Draws a frame, and a title with its note in the upper edge.
    pub fn bordered(&mut self, title: &str, note: &str, focused: bool) {
        let edge = FrameLook::new(focused);
        self.border(&edge);
        let x = self.titled(3, title, note, edge.name);
        self.sign(x, 0, " ", edge.role);
    }

    /// Writes a title and its note, and returns the column after them.
    fn titled(&mut self, x: u16, title: &str, note: &str, name: Role) -> u16 {
        let title = format::fit(title, self.width().saturating_sub(x + 2));
        let beside = if note.is_empty() {
            0
        } else {
            3 + format::width(note)
        };
        // Nothing of the edge's colour stays under the words.
        self.part(
            x.saturating_sub(1),
            0,
            1 + format::width(&title) + beside,
            1,
        )
        .erase();
        let x = self.text(x, 0, &title, name);
        match note {
            "" => x,
            note => self.pieces(x, 0, &[(" · ", Role::Dim), (note, Role::Dim)]),
        }
    }

    fn border(&mut self, edge: &FrameLook) {
        let (w, h) = (self.width(), self.height());
        if w < 2 || h < 2 {
            return;
        }
        let [upper, lower] = edge.corners;
        for (y, (left, right)) in [(0, upper), (h - 1, lower)] {
            self.sign(0, y, left, edge.role);
            self.run(1, y, w - 2, edge.across, edge.role);
            self.sign(w - 1, y, right, edge.role);
        }
        for y in 1..h - 1 {
            self.sign(0, y, edge.down, edge.role);
            self.sign(w - 1, y, edge.down, edge.role);
        }
    }

    /// Draws a frame with a title and returns the painter for its inside.
    pub fn framed(&mut self, title: &str, focused: bool) -> Painter<'_> {
        let (w, h) = (self.width(), self.height());
        if w < 2 || h < 2 {
            return self.part(0, 0, 0, 0);
        }
        let role = if focused { Role::Focus } else { Role::Border };
        self.border(&FrameLook {
            role,
            ..FrameLook::new(false)
        });
        self.title(title, focused);
        self.part(1, 1, w - 2, h - 2)
    }

    fn title(&mut self, title: &str, focused: bool) {
        let title = format!(" {} ", format::fit(title, self.width().saturating_sub(6)));
        let role = if focused { Role::Focus } else { Role::Text };
        self.text(2, 0, &title, role);
    }

    /// Draws a bar of `share` (0 to 1) over `width` columns, the rest dotted.
    pub fn meter(&mut self, x: u16, y: u16, width: u16, share: f64, role: Role) {
        let full = (share.clamp(0.0, 1.0) * f64::from(width)).round() as u16;
        self.run(x, y, full, "█", role);
        self.run(x + full, y, width.saturating_sub(full), "░", Role::Dim);
    }

    /// Draws a column on the row `bottom`, `share` (0 to 1) of `height` rows tall.
    pub fn column(&mut self, x: u16, bottom: u16, height: u16, share: f64, role: Role) {
        let share = if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        };
        let mut eighths = (share * f64::from(height) * 8.0).round() as usize;
        // A small share above zero stays visible.
        if share > 0.0 {
            eighths = eighths.max(1);
        }
        for row in 0..height {
            let here = eighths.saturating_sub(usize::from(row) * 8).min(8);
            if here == 0 || row > bottom {
                return;
            }
            self.sign(x, bottom - row, EIGHTHS[here], role);
        }
    }
}

/// The signs of a frame. Heavy lines show the focus without colours.
struct FrameLook {
    across: &'static str,
    down: &'static str,
    /// The left and the right corner, above and below.
    corners: [(&'static str, &'static str); 2],
    role: Role,
    /// The role of the title.
    name: Role,
}

impl FrameLook {
    fn new(focused: bool) -> Self {
        match focused {
            true => FrameLook {
                across: "━",
                down: "┃",
                corners: [("┏", "┓"), ("┗", "┛")],
                role: Role::Focus,
                name: Role::Focus,
            },
            false => FrameLook {
                across: "─",
                down: "│",
                corners: [("╭", "╮"), ("╰", "╯")],
                role: Role::Border,
                name: Role::Strong,
            },
        }
    }
}

/// Returns a share as a bar of one cell.
pub(crate) fn bar(share: f64) -> &'static str {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    EIGHTHS[(share * 8.0).round() as usize]
}

/// The bits of a cell's dots, by row and column.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
/// The bits of a cell's upper half.
const UPPER: u8 = 0x01 | 0x08 | 0x02 | 0x10;

/// Cells of dots, drawn at once.
pub(crate) struct Dots {
    width: u16,
    height: u16,
    cells: Vec<u8>,
}

impl Dots {
    /// Creates empty dots for an area of cells.
    pub(crate) fn new(width: u16, height: u16) -> Self {
        let cells = vec![0; usize::from(width) * usize::from(height)];
        Dots {
            width,
            height,
            cells,
        }
    }

    /// Returns the number of columns of dots.
    pub(crate) fn columns(&self) -> u16 {
        self.width * 2
    }

    /// Returns the number of rows of dots.
    pub(crate) fn rows(&self) -> u16 {
        self.height * 4
    }

    /// Sets a dot, counted from the upper left.
    pub(crate) fn set(&mut self, x: u16, y: u16) {
        if x >= self.columns() || y >= self.rows() {
            return;
        }
        let at = usize::from(y / 4) * usize::from(self.width) + usize::from(x / 2);
        self.cells[at] |= BITS[usize::from(y % 4)][usize::from(x % 2)];
    }

    /// Draws a curve of shares (0 to 1), one per column of dots. A column without a value ends the
    /// line.
    pub(crate) fn curve(&mut self, shares: impl Iterator<Item = Option<f64>>) {
        let mut before = None;
        for (x, share) in shares.take(usize::from(self.columns())).enumerate() {
            let Some(y) = share.map(|s| self.row(s)) else {
                before = None;
                continue;
            };
            let from = before.unwrap_or(y);
            for y in from.min(y)..=from.max(y) {
                self.set(x as u16, y);
            }
            before = Some(y);
        }
    }

    /// Returns the row of dots of a share, from the bottom.
    fn row(&self, share: f64) -> u16 {
        let most = f64::from(self.rows().saturating_sub(1));
        let share = if share.is_finite() { share } else { 0.0 };
        (most - share.clamp(0.0, 1.0) * most).round() as u16
    }

    /// Draws the cells with dots.
    pub(crate) fn draw(&self, painter: &mut Painter<'_>, x: u16, y: u16, role: Role) {
        let plain = painter.is_ascii();
        for (at, bits) in self.cells.iter().enumerate().filter(|c| *c.1 != 0) {
            let (column, row) = (at as u16 % self.width, at as u16 / self.width);
            let sign = if plain { halves(*bits) } else { dots(*bits) };
            let mut room = [0; 4];
            painter.sign(x + column, y + row, sign.encode_utf8(&mut room), role);
        }
    }
}

fn dots(bits: u8) -> char {
    char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ')
}

/// Returns a substitute for Braille: a sign above, below, or both.
fn halves(bits: u8) -> char {
    match (bits & UPPER != 0, bits & !UPPER != 0) {
        (true, true) => ':',
        (true, false) => '\'',
        _ => '.',
    }
}
