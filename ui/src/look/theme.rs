//! A theme: how each role looks, as a theme file writes it (`#348ac7 ansi:blue bold on:#101418`),
//! and its styles on a terminal.

use std::fmt;
use std::str::FromStr;

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

use super::colour::{self, Colour, Rgb};
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

/// Colours in front and behind, for each number of colours where stated, and modifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    front: Stated,
    behind: Stated,
    modifiers: Modifier,
}

/// The colours that were stated; what is missing is derived from the finest.
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

    fn on(self, colours: Colours) -> Option<Colour> {
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
    /// Like any text.
    pub const NONE: Paint = Paint {
        front: Stated::NONE,
        behind: Stated::NONE,
        modifiers: Modifier::empty(),
    };

    /// Its style on a terminal with so many colours.
    pub fn style(&self, colours: Colours) -> Style {
        let mut style = Style::new().add_modifier(self.modifiers);
        style.fg = self.front.on(colours).map(|c| c.on(colours));
        style.bg = self.behind.on(colours).map(|c| c.on(colours));
        style
    }

    /// The colour of the text at its finest.
    pub fn front(&self) -> Option<Colour> {
        self.front.on(Colours::True)
    }

    /// The colour behind at its finest.
    pub fn behind(&self) -> Option<Colour> {
        self.behind.on(Colours::True)
    }

    /// Text and what is behind change places.
    pub fn is_reversed(&self) -> bool {
        self.modifiers.contains(Modifier::REVERSED)
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

/// Where a colour was expected a modifier would have done too.
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
