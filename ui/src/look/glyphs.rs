//! Signs of ASCII in the place of others, and curves in Braille dots: two columns and four rows of
//! them in a cell.

use super::Role;
use super::painter::Painter;

/// The stand-in for a sign of the program; ASCII is left as it is. Wide signs and those
/// that are not known become a question mark, so that nothing but ASCII is written.
pub(super) fn ascii(symbol: &str) -> Option<&'static str> {
    if symbol.is_ascii() {
        return None;
    }
    let mut signs = symbol.chars();
    let sign = signs.next()?;
    Some(match sign {
        '╭' | '╮' | '╰' | '╯' | '┌' | '┐' | '└' | '┘' | '┼' | '┴' | '├' | '┤' | '┬' => {
            "+"
        }
        '▄' | '─' | '╌' | '┄' | '╴' | '╶' | '−' | '–' | '—' | '‐' | '‑' => {
            "-"
        }
        '│' | '┃' | '╎' | '┆' | '┊' | '╵' | '╷' | '▏' | '▎' | '▍' | '▐' | '▕' => {
            "|"
        }
        '·' | '•' | '▁' | '▂' | '░' | '⋯' | '∙' => ".",
        '▃' | '▒' | '⋮' | '▖' | '▗' => ":",
        '▅' | '▌' | '▋' | '━' | '═' | '‖' | '≡' => "=",
        '▆' | '✓' | '✔' | '✚' => "+",
        '▇' | '●' | '◆' | '◉' | '★' | '⏺' => "*",
        '○' | '◇' | '◌' | '☆' => "o",
        '█' | '■' | '▉' | '▊' => "#",
        '▓' => "%",
        '▀' | '▔' | '▘' | '▝' | '′' | '’' | '‘' => "'",
        '×' | '✗' | '✘' | '✕' => "x",
        '…' | '≈' | '∼' => "~",
        '→' | '›' | '▸' | '▶' | '►' | '▷' | '»' | '⏵' | '≥' | '⟩' => ">",
        '←' | '‹' | '◂' | '◀' | '◄' | '◁' | '«' | '≤' | '⟨' => "<",
        '▴' | '↑' | '▲' | '△' => "^",
        '↓' | '▾' | '▼' | '▽' => "v",
        '↔' | '⇄' => "=",
        '↕' | '⏸' => "|",
        'µ' | 'μ' => "u",
        'σ' => "s",
        '∅' | '°' => "o",
        '∑' | 'Σ' => "S",
        'Δ' | '∆' => "d",
        '∞' => "8",
        '±' => "~",
        '÷' | '▞' => "/",
        '²' => "2",
        '“' | '”' | '″' => "\"",
        '\u{a0}' | '\u{202f}' | '\u{2009}' | '\u{2007}' => " ",
        '\u{2800}'..='\u{28ff}' => darkness(sign),
        _ => "?",
    })
}

/// Dots as a sign about as dark, that sits where most of the dots are.
fn darkness(sign: char) -> &'static str {
    let dots = (sign as u32) & 0xff;
    // Bits of the four rows from the top.
    let rows = [0x09, 0x12, 0x24, 0xc0].map(|row| (dots & row).count_ones());
    let (upper, lower) = (rows[0] + rows[1], rows[2] + rows[3]);
    match (upper, lower) {
        (0, 0) => " ",
        (0, _) if rows[2] == 0 => "_",
        (0, _) => ".",
        (_, 0) if rows[1] == 0 => "`",
        (_, 0) => "'",
        (u, l) if u + l >= 6 => "#",
        (u, l) if u + l >= 4 => "|",
        _ => ":",
    }
}

/// The bits of a cell's dots, by row and column.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
/// The bits of a cell's upper half.
const UPPER: u8 = 0x01 | 0x08 | 0x02 | 0x10;

/// Cells of dots, to be drawn at once.
pub(crate) struct Dots {
    width: u16,
    height: u16,
    cells: Vec<u8>,
}

impl Dots {
    /// None set, over so many cells.
    pub(crate) fn new(width: u16, height: u16) -> Self {
        let cells = vec![0; usize::from(width) * usize::from(height)];
        Dots {
            width,
            height,
            cells,
        }
    }

    /// Columns of dots.
    pub(crate) fn columns(&self) -> u16 {
        self.width * 2
    }

    /// Rows of dots.
    pub(crate) fn rows(&self) -> u16 {
        self.height * 4
    }

    /// Sets one, counted from the upper left.
    pub(crate) fn set(&mut self, x: u16, y: u16) {
        if x >= self.columns() || y >= self.rows() {
            return;
        }
        let at = usize::from(y / 4) * usize::from(self.width) + usize::from(x / 2);
        self.cells[at] |= BITS[usize::from(y % 4)][usize::from(x % 2)];
    }

    /// Draws a curve of shares (0 to 1), one a column of dots; columns with none end it.
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

    /// The row of dots of a share, from the bottom.
    fn row(&self, share: f64) -> u16 {
        let most = f64::from(self.rows().saturating_sub(1));
        let share = if share.is_finite() { share } else { 0.0 };
        (most - share.clamp(0.0, 1.0) * most).round() as u16
    }

    /// Draws the cells that have a dot.
    pub(crate) fn draw(&self, pen: &mut Painter<'_>, x: u16, y: u16, role: Role) {
        let plain = pen.is_ascii();
        for (at, bits) in self.cells.iter().enumerate().filter(|c| *c.1 != 0) {
            let (column, row) = (at as u16 % self.width, at as u16 / self.width);
            let sign = if plain { halves(*bits) } else { dots(*bits) };
            let mut room = [0; 4];
            pen.sign(x + column, y + row, sign.encode_utf8(&mut room), role);
        }
    }
}

fn dots(bits: u8) -> char {
    char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ')
}

/// Without Braille: a sign above, below, or both.
fn halves(bits: u8) -> char {
    match (bits & UPPER != 0, bits & !UPPER != 0) {
        (true, true) => ':',
        (true, false) => '\'',
        _ => '.',
    }
}
