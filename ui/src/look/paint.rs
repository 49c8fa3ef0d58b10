//! How one role looks, as a theme file writes it: `#348ac7 ansi:blue bold on:#101418`.

use std::fmt;
use std::str::FromStr;

use ratatui::style::{Modifier, Style};

use super::Colours;
use super::colour::Colour;

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
