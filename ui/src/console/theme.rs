//! What things look like: meanings on one side, colours of a terminal on the other.
//!
//! Panels name a [`Role`]; only this file knows colours. Colour never carries a
//! meaning alone: a sign or word says the same. The tones are middling ones, to be
//! read on light and dark backgrounds.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

/// How many colours the terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// 24 bits a colour.
    True,
    /// The palette of 256.
    Indexed,
    /// The 16 that the user's theme sets.
    Sixteen,
    /// None: `NO_COLOR`, or a terminal without.
    None,
}

/// The meaning of a piece of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Plain text.
    Text,
    /// A number or word that matters more than its neighbours.
    Strong,
    /// Labels, units, what is idle.
    Dim,
    /// The one accent: focus, titles, current values.
    Accent,
    /// All is well.
    Good,
    /// Worth a look.
    Warn,
    /// Wrong.
    Bad,
    /// Spans: waiting in a queue.
    Wait,
    /// Spans: copying in.
    Copy,
    /// Spans: copying out.
    CopyOut,
    /// Spans: computing.
    Compute,
    /// Spans: computing, every other batch, so that neighbours can be told apart.
    ComputeOther,
    /// Spans: sending answers.
    Send,
    /// Frames.
    Border,
    /// The frame of the focused panel.
    Focus,
    /// What is no longer there.
    Gone,
    /// Where the cursor is.
    Cursor,
}

/// The terminal's abilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// How many colours.
    pub colours: Colours,
    /// Only the characters of ASCII.
    pub ascii: bool,
}

/// Whether the locale in force (the first that is set) is UTF-8; one that says
/// nothing is taken for a terminal of today.
fn speaks_unicode(all: &str, kind: &str, lang: &str) -> bool {
    let locale = [all, kind, lang].into_iter().find(|l| !l.is_empty());
    locale.is_none_or(|l| {
        let plain = l.to_ascii_lowercase().replace('-', "");
        plain.contains("utf8")
    })
}

impl Look {
    /// From `NO_COLOR`, `COLORTERM`, `TERM`, `DIVISI_ASCII` and the locale.
    pub fn from_env() -> Self {
        let set = |name: &str| std::env::var(name).unwrap_or_default();
        Look {
            colours: colours(&set("NO_COLOR"), &set("COLORTERM"), &set("TERM")),
            ascii: match set("DIVISI_ASCII").as_str() {
                "" => !speaks_unicode(&set("LC_ALL"), &set("LC_CTYPE"), &set("LANG")),
                "0" => false,
                _ => true,
            },
        }
    }

    /// The style for a meaning.
    pub fn style(self, role: Role) -> Style {
        let paint = paint(role);
        let style = Style::new().add_modifier(paint.modifier);
        let colour = match (self.colours, paint.colour) {
            (Colours::None, _) | (_, None) => return style,
            (Colours::True, Some(c)) => Color::Rgb(c.rgb.0, c.rgb.1, c.rgb.2),
            (Colours::Indexed, Some(c)) => Color::Indexed(c.indexed),
            (Colours::Sixteen, Some(c)) => c.ansi,
        };
        style.fg(colour)
    }

    /// One pass over the finished picture: what this terminal cannot show is replaced.
    pub fn finish(self, buffer: &mut Buffer) {
        if self.colours != Colours::None && !self.ascii {
            return;
        }
        for cell in &mut buffer.content {
            if self.colours == Colours::None {
                cell.fg = Color::Reset;
                cell.bg = Color::Reset;
            }
            if self.ascii
                && let Some(plain) = ascii(cell.symbol())
            {
                cell.set_symbol(plain);
            }
        }
    }
}

/// The number of colours from the environment's three variables.
pub fn colours(no_color: &str, colorterm: &str, term: &str) -> Colours {
    match (no_color, colorterm, term) {
        (n, _, t) if !n.is_empty() || t == "dumb" => Colours::None,
        (_, "truecolor" | "24bit", _) => Colours::True,
        (_, _, t) if t.contains("direct") => Colours::True,
        (_, _, t) if t.contains("256") => Colours::Indexed,
        _ => Colours::Sixteen,
    }
}

struct Tone {
    rgb: (u8, u8, u8),
    indexed: u8,
    ansi: Color,
}

struct Paint {
    colour: Option<Tone>,
    modifier: Modifier,
}

fn paint(role: Role) -> Paint {
    let tone = |rgb, indexed, ansi| Some(Tone { rgb, indexed, ansi });
    let accent = || tone((52, 138, 199), 32, Color::Blue);
    let grey = || tone((128, 128, 128), 244, Color::DarkGray);
    let (colour, modifier) = match role {
        Role::Text => (None, Modifier::empty()),
        Role::Strong => (None, Modifier::BOLD),
        Role::Dim | Role::Border | Role::Wait => (grey(), Modifier::empty()),
        Role::Accent | Role::Compute => (accent(), Modifier::empty()),
        Role::Focus => (accent(), Modifier::BOLD),
        Role::ComputeOther => (tone((38, 110, 162), 25, Color::Cyan), Modifier::empty()),
        Role::Good | Role::Send => (tone((62, 150, 92), 65, Color::Green), Modifier::empty()),
        Role::Copy => (tone((150, 110, 190), 97, Color::Magenta), Modifier::empty()),
        Role::CopyOut => (
            tone((196, 104, 148), 132, Color::LightMagenta),
            Modifier::empty(),
        ),
        Role::Warn => (tone((184, 128, 30), 136, Color::Yellow), Modifier::empty()),
        Role::Bad => (tone((206, 76, 70), 167, Color::Red), Modifier::BOLD),
        Role::Gone => (grey(), Modifier::CROSSED_OUT),
        Role::Cursor => (None, Modifier::REVERSED),
    };
    Paint { colour, modifier }
}

/// The stand-in for a sign of the program; other text is left as it is.
fn ascii(symbol: &str) -> Option<&'static str> {
    Some(match symbol {
        "╭" | "╮" | "╰" | "╯" | "┼" | "┴" | "├" | "┤" | "┬" => "+",
        "─" | "−" | "–" => "-",
        "│" | "╎" | "▏" | "┆" | "┊" => "|",
        "▞" => "/",
        "µ" => "u",
        "━" => "=",
        "·" | "▁" | "▂" | "░" => ".",
        "▃" | "▒" => ":",
        "▄" => "-",
        "▅" | "▌" => "=",
        "▆" | "✓" => "+",
        "▇" | "●" | "○" => "*",
        "█" => "#",
        "▓" => "%",
        "×" | "✗" => "x",
        "…" | "~" | "≈" => "~",
        "→" | "›" | "▸" | "▶" => ">",
        "▴" | "↑" => "^",
        "↓" => "v",
        "←" => "<",
        "‖" => "=",
        "≤" => "<",
        "≥" => ">",
        "±" => "~",
        _ => return None,
    })
}
