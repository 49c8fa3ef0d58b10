//! The screen as a file: text, text with its colours (ANSI), or a drawing (SVG).

mod svg;

pub use svg::svg;

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use crate::text::format;

/// Returns the screen as text.
pub fn text(screen: &Buffer) -> String {
    let mut text = String::new();
    for row in rows(screen) {
        let line: String = signs(row).map(|(_, cell)| cell.symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the rows of a screen, none if it has no columns.
fn rows(screen: &Buffer) -> impl Iterator<Item = &[Cell]> {
    let width = usize::from(screen.area.width).max(1);
    screen.content.chunks_exact(width)
}

/// Returns the characters of a row with their columns, without cells covered by a wide one.
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

const MODIFIERS: [(Modifier, u8); 6] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::REVERSED, 7),
    (Modifier::CROSSED_OUT, 9),
];

/// Returns the screen as text with colours; each line ends with a reset.
pub fn ansi(screen: &Buffer) -> String {
    let mut text = String::new();
    for row in rows(screen) {
        let mut codes = String::new();
        for (_, cell) in signs(row) {
            let here = codes_of(cell);
            if here != codes {
                // Writing to a string cannot fail.
                let _ = write!(text, "\u{1b}[0{here}m");
                codes = here;
            }
            text.push_str(cell.symbol());
        }
        text.push_str(if codes.is_empty() {
            "\n"
        } else {
            "\u{1b}[0m\n"
        });
    }
    text
}

/// Returns the codes of a cell's style, to follow a reset: `;1;38;5;74`.
fn codes_of(cell: &Cell) -> String {
    let mut codes = String::new();
    for (modifier, code) in MODIFIERS {
        if cell.modifier.contains(modifier) {
            let _ = write!(codes, ";{code}");
        }
    }
    codes + &colour(cell.fg, 30) + &colour(cell.bg, 40)
}

fn colour(colour: Color, base: u8) -> String {
    match colour {
        Color::Rgb(r, g, b) => format!(";{};2;{r};{g};{b}", base + 8),
        Color::Indexed(n) => format!(";{};5;{n}", base + 8),
        other => match place(other) {
            Some(n) if n < 8 => format!(";{}", base + n),
            Some(n) => format!(";{}", base + 52 + n),
            None => String::new(),
        },
    }
}

/// Returns the index among the 16 colours.
fn place(colour: Color) -> Option<u8> {
    let order = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
        Color::DarkGray,
        Color::LightRed,
        Color::LightGreen,
        Color::LightYellow,
        Color::LightBlue,
        Color::LightMagenta,
        Color::LightCyan,
        Color::White,
    ];
    let at = order.iter().position(|c| *c == colour)?;
    u8::try_from(at).ok()
}
