//! The messages between the page and the server: JSON texts over a WebSocket.

use serde::{Deserialize, Serialize};

/// The maximum bytes of a message of a page. A longer paste is refused.
pub(super) const MESSAGE: usize = 64 << 10;
/// The largest screen: columns and rows.
const LARGEST: (u16, u16) = (500, 200);

/// A page's introduction, its first message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hello {
    /// The key, if the page has one.
    pub key: Option<String>,
    /// The size of its screen.
    pub size: ViewerSize,
    /// Whether the browser prefers a dark background.
    pub dark: bool,
    /// Whether the browser asks for few or no colours.
    pub plain: bool,
}

/// A number of columns and rows.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct ViewerSize(u16, u16);

impl ViewerSize {
    /// Returns the columns and rows within the bounds.
    pub(super) fn bounded(self) -> (u16, u16) {
        (self.0.clamp(1, LARGEST.0), self.1.clamp(1, LARGEST.1))
    }
}

/// A later message of a page.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum FromPage {
    /// A key went down or repeats.
    Key(PressedKey),
    /// The mouse was used.
    Mouse(UsedMouse),
    /// Text was pasted.
    Paste {
        /// The text.
        text: String,
    },
    /// The size of the screen changed.
    Resize {
        /// The new size.
        size: ViewerSize,
    },
    /// The frame with this number is on the screen.
    Painted {
        /// The number of the frame.
        frame: u64,
    },
}

/// A key as a browser names it, with the held keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PressedKey {
    /// The browser's name of the key, such as `a` or `ArrowUp`.
    pub key: String,
    /// The held keys.
    #[serde(default)]
    pub held: HeldKeys,
}

/// The keys held during another event.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HeldKeys {
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

/// An event of the mouse at a cell.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsedMouse {
    /// The kind of event.
    pub kind: MouseUse,
    /// The column of the cell.
    pub column: u16,
    /// The row of the cell.
    pub row: u16,
    /// The held keys.
    #[serde(default)]
    pub held: HeldKeys,
}

/// The kinds of events of a mouse, with its left button.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MouseUse {
    Down,
    Drag,
    Up,
    WheelUp,
    WheelDown,
}

/// A message to the page.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ToPage<'a> {
    /// The page is connected.
    Joined {
        /// Whether it may change things.
        edits: bool,
        /// The name of the console, for the title.
        title: &'a str,
    },
    /// The page is not connected, with the reason.
    Refused {
        /// The reason.
        why: &'a str,
        /// Whether another key may help.
        key: bool,
    },
    /// The changed cells.
    Frame(PageFrame),
    /// Lines for screen readers.
    Say {
        /// The lines, oldest first.
        lines: &'a [String],
    },
    /// Whether the console uses the mouse.
    Mouse {
        /// Whether it does.
        on: bool,
    },
    /// The user has quit.
    Bye,
}

/// The differences of a picture from the previous one.
#[derive(Debug, Default, Serialize)]
pub(super) struct PageFrame {
    /// Its number, which the page repeats once the frame is on the screen.
    pub number: u64,
    /// The size, if the page is to begin with an empty screen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<(u16, u16)>,
    /// The colours of an empty screen and of text on it, if they changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ground: Option<(String, String)>,
    /// New styles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub styles: Vec<CellStyle>,
    /// The changed cells.
    pub runs: Vec<CellRun>,
}

/// A style: its number, its colours (`None` for the page's own), and bits: bold 1, dim 2, italic 4,
/// underlined 8, crossed out 16.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct CellStyle(pub usize, pub Option<String>, pub Option<String>, pub u8);

/// Neighbouring cells of a row in one style.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum CellRun {
    /// Row, column, style, and a character for each cell.
    Plain(u16, u16, usize, String),
    /// Row, column, style, and one symbol with its number of cells.
    Wide(u16, u16, usize, String, u16),
}

impl ToPage<'_> {
    /// Returns the message as text. Its parts are always representable.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
