//! A theme, and its styles on a terminal.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Style};

use super::colour::{self, Colour, Rgb};
use super::paint::Paint;
use super::{Colours, Role, TerminalLook, glyphs};

/// The look of what has none.
static PLAIN: Paint = Paint::NONE;

/// How every role looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Its name.
    pub name: String,
    /// The colour behind everything; may be the terminal's own.
    pub background: Colour,
    /// The colour assumed for the terminal's own background, in pictures and for contrast.
    pub ground: Rgb,
    /// The colour of plain text on that.
    pub ink: Rgb,
    paints: Vec<Paint>,
}

impl Theme {
    /// A theme without any colour.
    pub fn plain(name: &str) -> Self {
        Theme {
            name: name.to_owned(),
            background: Colour::Terminal,
            ground: (0, 0, 0),
            ink: (255, 255, 255),
            paints: vec![Paint::default(); Role::ALL.len()],
        }
    }

    /// How a role looks.
    pub fn paint(&self, role: Role) -> &Paint {
        self.paints.get(role as usize).unwrap_or(&PLAIN)
    }

    /// Gives a role another look.
    pub fn set(&mut self, role: Role, paint: Paint) {
        if let Some(place) = self.paints.get_mut(role as usize) {
            *place = paint;
        }
    }

    /// Returns the styles of all roles on a terminal.
    pub fn styles(&self, look: TerminalLook) -> Styles {
        let colours = look.colours;
        let text = self.paint(Role::Text).style(colours);
        Styles {
            ascii: look.ascii,
            styles: self.paints.iter().map(|p| p.style(colours)).collect(),
            behind: self.background.on(colours),
            text: text.fg.unwrap_or(Color::Reset),
            ground: self.background.rgb().unwrap_or(self.ground),
            ink: text.fg.and_then(colour::looks).unwrap_or(self.ink),
        }
    }
}

/// The styles of a terminal with some number of colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Styles {
    styles: Vec<Style>,
    behind: Color,
    text: Color,
    /// Only the characters of ASCII are shown.
    pub ascii: bool,
    /// The colour that an empty cell has in a picture.
    pub ground: Rgb,
    /// The colour that text without one has in a picture.
    pub ink: Rgb,
}

impl Styles {
    /// The style for a meaning.
    pub fn of(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }

    /// One pass over the finished picture: the theme's ground under everything, and what
    /// this terminal cannot show is replaced.
    pub fn finish(&self, look: TerminalLook, buffer: &mut Buffer) {
        let plain = self.behind == Color::Reset && self.text == Color::Reset;
        if plain && look.colours != Colours::None && !look.ascii {
            return;
        }
        for cell in &mut buffer.content {
            if look.colours == Colours::None {
                cell.fg = Color::Reset;
                cell.bg = Color::Reset;
            } else {
                self.ground(&mut cell.fg, &mut cell.bg);
            }
            if look.ascii
                && let Some(plain) = glyphs::ascii(cell.symbol())
            {
                cell.set_symbol(plain);
            }
        }
    }

    fn ground(&self, front: &mut Color, behind: &mut Color) {
        if *front == Color::Reset {
            *front = self.text;
        }
        if *behind == Color::Reset {
            *behind = self.behind;
        }
    }
}
