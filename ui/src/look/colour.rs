//! Colours in the notation of theme files, and the nearest colours of a terminal.

use std::fmt;
use std::str::FromStr;

use ratatui::style::Color;

use super::Colours;

/// Red, green, blue.
pub type Rgb = (u8, u8, u8);

/// A colour as specified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The terminal's default: of text in front, of the screen behind.
    Terminal,
    /// A 24-bit colour.
    Rgb(Rgb),
    /// A colour of the palette of 256.
    Indexed(u8),
    /// One of the 16 colours of the user's terminal, by its index.
    Ansi(u8),
}

/// The names of the 16 colours, in their order.
const ANSI: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "bright-black",
    "bright-red",
    "bright-green",
    "bright-yellow",
    "bright-blue",
    "bright-magenta",
    "bright-cyan",
    "bright-white",
];

/// The usual values of the 16 colours in terminals.
const USUAL: [Rgb; 16] = [
    (0, 0, 0),
    (205, 49, 49),
    (13, 188, 121),
    (229, 229, 16),
    (36, 114, 200),
    (188, 63, 188),
    (17, 168, 205),
    (229, 229, 229),
    (102, 102, 102),
    (241, 76, 76),
    (35, 209, 139),
    (245, 245, 67),
    (59, 142, 234),
    (214, 112, 214),
    (41, 184, 219),
    (255, 255, 255),
];

/// The notations of colours, for errors.
const EXPECTED: &str = "a colour as #rrggbb, indexed:0 to indexed:255, ansi:NAME (black, red, green, yellow, blue, \
     magenta, cyan, white, or bright- before one) or terminal";

impl FromStr for Colour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = if text == "terminal" {
            Some(Colour::Terminal)
        } else if let Some(hex) = text.strip_prefix('#') {
            rgb(hex).map(Colour::Rgb)
        } else if let Some(number) = text.strip_prefix("indexed:") {
            number.parse().ok().map(Colour::Indexed)
        } else {
            let name = text.strip_prefix("ansi:");
            let place = name.and_then(|n| ANSI.iter().position(|a| *a == n));
            place.and_then(|p| u8::try_from(p).ok()).map(Colour::Ansi)
        };
        found.ok_or_else(|| format!("expected {EXPECTED}, found `{text}`"))
    }
}

fn rgb(hex: &str) -> Option<Rgb> {
    let digits = hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit());
    let part = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    digits.then_some(())?;
    Some((part(0)?, part(2)?, part(4)?))
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Colour::Terminal => f.write_str("terminal"),
            Colour::Rgb((r, g, b)) => write!(f, "#{r:02x}{g:02x}{b:02x}"),
            Colour::Indexed(n) => write!(f, "indexed:{n}"),
            Colour::Ansi(n) => write!(f, "ansi:{}", ANSI[usize::from(n & 15)]),
        }
    }
}

impl Colour {
    /// Returns its red, green and blue, or `None` for the terminal's own colour.
    pub fn rgb(self) -> Option<Rgb> {
        match self {
            Colour::Terminal => None,
            Colour::Rgb(rgb) => Some(rgb),
            Colour::Indexed(n) => Some(of_index(n)),
            Colour::Ansi(n) => Some(USUAL[usize::from(n & 15)]),
        }
    }

    /// Returns the colour for a terminal: the nearest one if the terminal lacks this.
    pub fn for_terminal(self, colours: Colours) -> Color {
        let Some(rgb) = self.rgb() else {
            return Color::Reset;
        };
        match (colours, self) {
            (Colours::None, _) => Color::Reset,
            (_, Colour::Ansi(n)) => of_ansi(n),
            (Colours::Sixteen, _) => of_ansi(nearest(rgb, &USUAL)),
            (_, Colour::Indexed(n)) => Color::Indexed(n),
            (Colours::True, _) => Color::Rgb(rgb.0, rgb.1, rgb.2),
            (Colours::Indexed, _) => Color::Indexed(nearest_index(rgb)),
        }
    }
}

/// Returns the colour at an index of the palette of 256.
fn of_index(n: u8) -> Rgb {
    let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
    match n {
        0..=15 => USUAL[usize::from(n)],
        16..=231 => {
            let cube = n - 16;
            (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        _ => {
            let grey = 8 + (n - 232) * 10;
            (grey, grey, grey)
        }
    }
}

/// Returns the nearest colour of the cube and the greys. The first 16 are the user's and may have
/// other values.
fn nearest_index(rgb: Rgb) -> u8 {
    let distance = |n: &u8| away(rgb, of_index(*n));
    (16..=255).min_by_key(distance).unwrap_or(255)
}

fn nearest(rgb: Rgb, among: &[Rgb; 16]) -> u8 {
    let distance = |n: &u8| away(rgb, among[usize::from(*n)]);
    (0..16).min_by_key(distance).unwrap_or(7)
}

/// Returns the approximate visual difference of two colours, with most weight on green.
fn away(one: Rgb, other: Rgb) -> u32 {
    let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    2 * square(one.0, other.0) + 4 * square(one.1, other.1) + 3 * square(one.2, other.2)
}

/// Returns ratatui's colour for an index of the 16.
fn of_ansi(n: u8) -> Color {
    match n & 15 {
        0 => Color::Black,
        1 => Color::Red,
        2 => Color::Green,
        3 => Color::Yellow,
        4 => Color::Blue,
        5 => Color::Magenta,
        6 => Color::Cyan,
        7 => Color::Gray,
        8 => Color::DarkGray,
        9 => Color::LightRed,
        10 => Color::LightGreen,
        11 => Color::LightYellow,
        12 => Color::LightBlue,
        13 => Color::LightMagenta,
        14 => Color::LightCyan,
        _ => Color::White,
    }
}

/// Returns the visible colour of a cell's colour, or `None` for the terminal's own.
pub(crate) fn looks(colour: Color) -> Option<Rgb> {
    if let Color::Rgb(r, g, b) = colour {
        return Some((r, g, b));
    }
    if let Color::Indexed(n) = colour {
        return Some(of_index(n));
    }
    let place = (0..16).find(|n| of_ansi(*n) == colour);
    place.map(|n| USUAL[usize::from(n)])
}
