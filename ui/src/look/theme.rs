//! A theme: the look of each role, in the notation of theme files (`#348ac7 ansi:blue bold
//! on:#101418`), and its styles on a terminal.

use std::fmt;
use std::str::FromStr;

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

use super::colour::{self, Colour, Rgb};
use super::{Colours, Role, TerminalLook, glyphs};

/// The look of roles without one.
static PLAIN: Paint = Paint::NONE;

/// The look of every role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Its name.
    pub name: String,
    /// The background colour, which may be the terminal's own.
    pub background: Colour,
    /// The colour assumed for the terminal's own background, in pictures and for contrast.
    pub ground: Rgb,
    /// The colour assumed for plain text.
    pub ink: Rgb,
    paints: Vec<Paint>,
}

impl Theme {
    /// Returns a theme without colours.
    pub fn plain(name: &str) -> Self {
        Theme {
            name: name.to_owned(),
            background: Colour::Terminal,
            ground: (0, 0, 0),
            ink: (255, 255, 255),
            paints: vec![Paint::default(); Role::ALL.len()],
        }
    }

    /// Returns the look of a role.
    pub fn paint(&self, role: Role) -> &Paint {
        self.paints.get(role as usize).unwrap_or(&PLAIN)
    }

    /// Sets the look of a role.
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
            behind: self.background.for_terminal(colours),
            text: text.fg.unwrap_or(Color::Reset),
            ground: self.background.rgb().unwrap_or(self.ground),
            ink: text.fg.and_then(colour::looks).unwrap_or(self.ink),
        }
    }
}

/// The styles on a terminal with some number of colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Styles {
    styles: Vec<Style>,
    behind: Color,
    text: Color,
    /// Whether only ASCII characters are drawn.
    pub ascii: bool,
    /// The colour of an empty cell in a picture.
    pub ground: Rgb,
    /// The colour of text without a colour in a picture.
    pub ink: Rgb,
}

impl Styles {
    /// Returns the style of a role.
    pub fn role_style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }

    /// Finishes a picture in one pass: draws the theme's background and replaces what this terminal
    /// cannot show.
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

/// Foreground and background colours for each number of colours, where specified, and modifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    front: Stated,
    behind: Stated,
    modifiers: Modifier,
}

/// The specified colours; missing ones are derived from the finest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stated {
    finest: Option<Colour>,
    indexed: Option<Colour>,
    ansi: Option<Colour>,
}

const MODIFIERS: [(&str, Modifier); 6] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reverse", Modifier::REVERSED),
    ("crossed-out", Modifier::CROSSED_OUT),
];

impl Stated {
    const NONE: Stated = Stated {
        finest: None,
        indexed: None,
        ansi: None,
    };

    fn state(&mut self, colour: Colour) {
        match colour {
            Colour::Rgb(_) | Colour::Terminal => self.finest = Some(colour),
            Colour::Indexed(_) => self.indexed = Some(colour),
            Colour::Ansi(_) => self.ansi = Some(colour),
        }
    }

    fn for_colours(self, colours: Colours) -> Option<Colour> {
        let (fine, middle, coarse) = (self.finest, self.indexed, self.ansi);
        match colours {
            Colours::None => None,
            Colours::True => fine.or(middle).or(coarse),
            Colours::Indexed => middle.or(fine).or(coarse),
            Colours::Sixteen => coarse.or(middle).or(fine),
        }
    }

    fn all(self) -> impl Iterator<Item = Colour> {
        [self.finest, self.indexed, self.ansi].into_iter().flatten()
    }
}

impl Paint {
    /// The look of plain text.
    pub const NONE: Paint = Paint {
        front: Stated::NONE,
        behind: Stated::NONE,
        modifiers: Modifier::empty(),
    };

    /// Returns its style on a terminal with this number of colours.
    pub fn style(&self, colours: Colours) -> Style {
        let mut style = Style::new().add_modifier(self.modifiers);
        style.fg = self
            .front
            .for_colours(colours)
            .map(|c| c.for_terminal(colours));
        style.bg = self
            .behind
            .for_colours(colours)
            .map(|c| c.for_terminal(colours));
        style
    }

    /// Returns the finest specification of the text colour.
    pub fn front(&self) -> Option<Colour> {
        self.front.for_colours(Colours::True)
    }

    /// Returns the finest specification of the background colour.
    pub fn behind(&self) -> Option<Colour> {
        self.behind.for_colours(Colours::True)
    }
}

impl FromStr for Paint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut paint = Paint::default();
        for word in text.split_whitespace() {
            if let Some((_, modifier)) = MODIFIERS.iter().find(|(name, _)| *name == word) {
                paint.modifiers |= *modifier;
            } else if let Some(colour) = word.strip_prefix("on:") {
                paint.behind.state(colour.parse()?);
            } else {
                paint.front.state(word.parse().map_err(wider)?);
            }
        }
        Ok(paint)
    }
}

/// Extends the error of an expected colour: a modifier is also accepted.
fn wider(wrong: String) -> String {
    let names: Vec<&str> = MODIFIERS.iter().map(|(name, _)| *name).collect();
    wrong.replacen(
        "expected ",
        &format!("expected {}, on:COLOUR, ", names.join(", ")),
        1,
    )
}

impl fmt::Display for Paint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modifiers = MODIFIERS.iter();
        let modifiers = modifiers.filter(|(_, m)| self.modifiers.contains(*m));
        let words = self.front.all().map(|c| c.to_string());
        let words = words.chain(self.behind.all().map(|c| format!("on:{c}")));
        let words = words.chain(modifiers.map(|(name, _)| (*name).to_owned()));
        f.write_str(&words.collect::<Vec<_>>().join(" "))
    }
}
