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
    /// Graphs: a low load.
    LoadLow,
    /// Graphs: a medium load.
    LoadMedium,
    /// Graphs: a high load.
    LoadHigh,
    /// The hue of the first member, and of every twelfth after it; so are the others.
    Hue1,
    /// The hue of the second member.
    Hue2,
    /// The hue of the third member.
    Hue3,
    /// The hue of the fourth member.
    Hue4,
    /// The hue of the fifth member.
    Hue5,
    /// The hue of the sixth member.
    Hue6,
    /// The hue of the seventh member.
    Hue7,
    /// The hue of the eighth member.
    Hue8,
    /// The hue of the ninth member.
    Hue9,
    /// The hue of the tenth member.
    Hue10,
    /// The hue of the eleventh member.
    Hue11,
    /// The hue of the twelfth member.
    Hue12,
}

/// The hues of members in their order.
const HUES: [Role; 12] = [
    Role::Hue1,
    Role::Hue2,
    Role::Hue3,
    Role::Hue4,
    Role::Hue5,
    Role::Hue6,
    Role::Hue7,
    Role::Hue8,
    Role::Hue9,
    Role::Hue10,
    Role::Hue11,
    Role::Hue12,
];

impl Role {
    /// All roles with their names in theme files and their uses.
    pub const ALL: [(Role, &'static str, &'static str); 32] = [
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
        (Role::LoadLow, "load-low", "graphs: a low load"),
        (Role::LoadMedium, "load-medium", "graphs: a medium load"),
        (Role::LoadHigh, "load-high", "graphs: a high load"),
        (Role::Hue1, "hue-1", "member 1 and every twelfth after it"),
        (Role::Hue2, "hue-2", "member 2"),
        (Role::Hue3, "hue-3", "member 3"),
        (Role::Hue4, "hue-4", "member 4"),
        (Role::Hue5, "hue-5", "member 5"),
        (Role::Hue6, "hue-6", "member 6"),
        (Role::Hue7, "hue-7", "member 7"),
        (Role::Hue8, "hue-8", "member 8"),
        (Role::Hue9, "hue-9", "member 9"),
        (Role::Hue10, "hue-10", "member 10"),
        (Role::Hue11, "hue-11", "member 11"),
        (Role::Hue12, "hue-12", "member 12"),
    ];

    /// Returns the hue of the member in a column, counted from 0. After twelve members the hues
    /// repeat; the letters differ.
    pub fn for_member(column: usize) -> Role {
        HUES[column % HUES.len()]
    }

    /// Returns the lightness for a share of the time, 0 to 1.
    pub(crate) fn for_load(share: f64) -> Role {
        match share {
            share if share < 0.35 => Role::LoadLow,
            share if share < 0.75 => Role::LoadMedium,
            _ => Role::LoadHigh,
        }
    }
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
