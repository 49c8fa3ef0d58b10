//! The look of the screen: roles on one side, colours of a terminal on the other.
//!
//! Panels name a [`Role`], a [`Theme`] assigns each role a look, and `Styles` adapts it to the
//! colours of the terminal. Colour never carries a meaning alone: a sign or word repeats it.

mod colour;
mod glyphs;
mod painter;
pub mod picture;
mod theme;

use clap::ValueEnum;
pub(crate) use colour::looks;
pub use colour::{Colour, Rgb};
pub(crate) use painter::{Dots, EIGHTHS, Painter, bar};
pub use theme::{Paint, Styles, Theme};

use crate::text::Severity;

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// By NO_COLOR, COLORTERM and TERM
    #[default]
    Auto,
    /// Even if NO_COLOR is set
    Always,
    /// Never
    Never,
}

/// The number of colours of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// 24-bit colours.
    True,
    /// The palette of 256 colours.
    Indexed,
    /// The 16 colours of the user's terminal.
    Sixteen,
    /// No colours: `NO_COLOR`, or a terminal without colours.
    None,
}

/// The role of a piece of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Plain text.
    Text,
    /// An emphasised number or word.
    Strong,
    /// Labels, units and idle things.
    Dim,
    /// The one accent: focus, titles, current values.
    Accent,
    /// No problem.
    Good,
    /// A warning.
    Warn,
    /// An error.
    Bad,
    /// Spans: waiting in a queue.
    Wait,
    /// Spans: copying in.
    Copy,
    /// Spans: copying out.
    CopyOut,
    /// Spans: computing.
    Compute,
    /// Spans: computing, for every other batch, to distinguish neighbours.
    ComputeOther,
    /// Spans: sending answers.
    Send,
    /// Frames.
    Border,
    /// The frame of the focused panel.
    Focus,
    /// Removed things.
    Gone,
    /// The place of the cursor.
    Cursor,
}

impl Role {
    /// All roles with their names in theme files and their uses.
    pub const ALL: [(Role, &'static str, &'static str); 17] = [
        (Role::Text, "text", "plain text"),
        (Role::Strong, "strong", "emphasised numbers and words"),
        (Role::Dim, "dim", "labels, units, idle things"),
        (
            Role::Accent,
            "accent",
            "focus, titles, keys, current values",
        ),
        (Role::Good, "good", "all is well"),
        (Role::Warn, "warn", "worth a look"),
        (Role::Bad, "bad", "wrong"),
        (Role::Wait, "wait", "spans: waiting in a queue"),
        (Role::Copy, "copy", "spans: copying in"),
        (Role::CopyOut, "copy-out", "spans: copying out"),
        (Role::Compute, "compute", "spans: computing"),
        (
            Role::ComputeOther,
            "compute-other",
            "spans: computing, every other batch",
        ),
        (Role::Send, "send", "spans: sending answers"),
        (Role::Border, "border", "frames"),
        (Role::Focus, "focus", "the frame of the focused panel"),
        (Role::Gone, "gone", "removed things"),
        (Role::Cursor, "cursor", "the cursor"),
    ];
}

impl From<Severity> for Role {
    fn from(grave: Severity) -> Self {
        match grave {
            Severity::Information => Role::Dim,
            Severity::Warning => Role::Warn,
            Severity::Fault => Role::Bad,
        }
    }
}

/// The terminal's capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalLook {
    /// The number of colours.
    pub colours: Colours,
    /// Whether only ASCII characters are drawn.
    pub ascii: bool,
}

/// Returns whether the locale in force (the first one set) is UTF-8. Without a locale, UTF-8 is
/// assumed.
fn speaks_unicode(all: &str, kind: &str, lang: &str) -> bool {
    let locale = [all, kind, lang].into_iter().find(|l| !l.is_empty());
    locale.is_none_or(|l| {
        let plain = l.to_ascii_lowercase().replace('-', "");
        plain.contains("utf8")
    })
}

impl TerminalLook {
    /// Reads the capabilities from `NO_COLOR`, `COLORTERM`, `TERM`, `DIVISI_ASCII` and the locale.
    pub fn from_env(color: ColorWhen) -> Self {
        let set = |name: &str| std::env::var(name).unwrap_or_default();
        let no_color = match color {
            ColorWhen::Auto => set("NO_COLOR"),
            ColorWhen::Always => String::new(),
            ColorWhen::Never => "1".to_owned(),
        };
        TerminalLook {
            colours: colours(&no_color, &set("COLORTERM"), &set("TERM")),
            ascii: match set("DIVISI_ASCII").as_str() {
                "" => !speaks_unicode(&set("LC_ALL"), &set("LC_CTYPE"), &set("LANG")),
                "0" => false,
                _ => true,
            },
        }
    }
}

/// Returns the number of colours from the three environment variables.
pub fn colours(no_color: &str, colorterm: &str, term: &str) -> Colours {
    match (no_color, colorterm, term) {
        (n, _, t) if !n.is_empty() || t == "dumb" => Colours::None,
        (_, "truecolor" | "24bit", _) => Colours::True,
        (_, _, t) if t.contains("direct") => Colours::True,
        (_, _, t) if t.contains("256") => Colours::Indexed,
        _ => Colours::Sixteen,
    }
}
