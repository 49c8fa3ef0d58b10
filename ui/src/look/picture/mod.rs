//! The screen as a file: text, text with its colours (ANSI), or a drawing (SVG).

mod ansi;
mod glyph;
mod svg;

pub use ansi::ansi;
pub use svg::svg;

use ratatui::buffer::{Buffer, Cell};

use crate::text::format;

/// The screen as text.
pub fn text(screen: &Buffer) -> String {
    let mut text = String::new();
    for row in rows(screen) {
        let line: String = signs(row).map(|(_, cell)| cell.symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The rows of a screen; none of one without columns.
fn rows(screen: &Buffer) -> impl Iterator<Item = &[Cell]> {
    let width = usize::from(screen.area.width).max(1);
    screen.content.chunks_exact(width)
}

/// The signs of a row with their columns; what a wide one covers is left out.
fn signs(row: &[Cell]) -> impl Iterator<Item = (u16, &Cell)> {
    let mut next = 0;
    let placed = row.iter().enumerate().filter(move |(x, cell)| {
        let starts = *x >= next;
        if starts {
            next = *x + usize::from(format::width(cell.symbol()).max(1));
        }
        starts
    });
    placed.map(|(x, cell)| (u16::try_from(x).unwrap_or(u16::MAX), cell))
}
