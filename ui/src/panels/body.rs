//! The declaration of a panel: its picture, its size and its scrolling.

use crate::look::Painter;
use crate::model::Model;

/// A panel as its module declares it.
pub(super) struct PanelBody {
    /// Draws the panel.
    pub draw: fn(&mut Painter<'_>, &Model),
    /// Returns the minimum useful width.
    pub least_width: fn(&Model) -> u16,
    /// Returns the minimum and the maximum useful rows with the title, on a screen with so many rows
    /// for panels.
    pub height: fn(&Model, u16) -> (u16, u16),
    /// Returns the most rows by which it can be scrolled, with so many columns and rows inside.
    pub scroll_end: fn(&Model, u16, usize) -> usize,
    /// Whether it shows its last rows, and scrolling goes back from there.
    pub is_from_end: bool,
    /// Returns a word or two on its contents, and whether these are worth its room.
    pub news: fn(&Model) -> PanelNews,
}

/// The contents of a panel in a few words.
pub(super) struct PanelNews {
    /// The words, which may be empty.
    pub words: String,
    /// Whether there is nothing to show: the panel folds.
    pub is_quiet: bool,
}

impl PanelNews {
    /// Returns words of a panel that has something to show.
    pub(super) fn open(words: impl Into<String>) -> Self {
        PanelNews {
            words: words.into(),
            is_quiet: false,
        }
    }

    /// Returns words of a panel that folds.
    pub(super) fn quiet(words: impl Into<String>) -> Self {
        PanelNews {
            words: words.into(),
            is_quiet: true,
        }
    }
}

impl PanelBody {
    /// Creates a panel of any size without scrolling.
    pub(super) const fn new(draw: fn(&mut Painter<'_>, &Model)) -> Self {
        PanelBody {
            draw,
            least_width: |_| 24,
            height: |_, all| (6, all),
            scroll_end: |_, _, _| 0,
            is_from_end: false,
            news: |_| PanelNews::open(""),
        }
    }
}

/// Returns the height of a panel that needs `rows`, and uses at least some.
pub(super) fn height_for(rows: usize, least: u16) -> (u16, u16) {
    let rows = u16::try_from(rows).unwrap_or(u16::MAX);
    (least, rows.max(least))
}
