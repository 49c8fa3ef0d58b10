//! The look of things: meanings on one side, colours of a terminal on the other.
//!
//! Panels name a [`Role`]; a [`Theme`] says how each looks, and `Styles` is that for
//! the colours that the terminal has. Colour never carries a meaning alone: a sign or
//! word says the same.

mod colour;
mod glyphs;
mod painter;
pub mod picture;
mod theme;

use clap::ValueEnum;
pub(crate) use colour::looks;
pub use colour::{Colour, Rgb, contrast};
pub(crate) use painter::{Dots, EIGHTHS, Painter, bar};
pub use theme::{Paint, Styles, Theme};

use crate::text::Severity;

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// As NO_COLOR, COLORTERM and TERM say
    #[default]
    Auto,
    /// Even if NO_COLOR is set
    Always,
    /// Never
    Never,
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Things that are no longer there.
    Gone,
    /// The place of the cursor.
    Cursor,
}

impl Role {
    /// All of them with their names in theme files, and what they are for.
    pub const ALL: [(Role, &'static str, &'static str); 17] = [
        (Role::Text, "text", "plain text"),
        (
            Role::Strong,
            "strong",
            "what matters more than its neighbours",
        ),
        (Role::Dim, "dim", "labels, units, what is idle"),
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
        (Role::Gone, "gone", "what is no longer there"),
        (Role::Cursor, "cursor", "where the cursor is"),
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

/// The terminal's abilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalLook {
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

impl TerminalLook {
    /// From `NO_COLOR`, `COLORTERM`, `TERM`, `DIVISI_ASCII` and the locale.
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
