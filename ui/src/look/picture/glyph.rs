//! Signs that are drawn instead of set, so that they meet whatever the font is:
//! blocks, lines and Braille. Places are in units of the cell's upper left corner.

use std::fmt::Write as _;

/// Width and height of a cell.
pub(super) const CELL: (f64, f64) = (8.4, 18.0);

/// How a sign is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum GlyphKind {
    /// Filled areas, with so many percent of the colour.
    Fill(u8),
    /// Thin lines.
    Line,
    /// Round dots.
    Dots,
}

/// The path of a sign at column `x` and row `y`, `count` times side by side; none for
/// signs that the font sets.
pub(super) fn path(sign: char, x: u16, y: u16, count: u16) -> Option<(GlyphKind, String)> {
    let at = (f64::from(x) * CELL.0, f64::from(y) * CELL.1);
    let wide = f64::from(count) * CELL.0;
    if let Some((kind, area)) = block(sign) {
        // Parts of a cell's width do not join, so each is drawn.
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

/// The part of a cell that a block covers: left, top, width, height, in shares.
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

/// The dots of a Braille sign, in two columns of four.
fn dots(sign: char, x: f64, y: f64) -> String {
    let bits = (sign as u32) & 0xff;
    // Bits in the order of the columns: 1 2 3 7, 4 5 6 8.
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

/// Lines of frames, through the middle of the cell.
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

/// A number without what says nothing: `8.4`, `18`.
pub(super) fn n(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
