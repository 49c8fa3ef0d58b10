//! The row of panels that are not open: folded ones first, each with its key and a word on its
//! contents.

use std::ops::Range;

use ratatui::layout::Rect;

use super::body;
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The panels on the screen with their places.
type OpenPanels = [(Panel, Rect)];

/// A closed panel in the row.
struct Tab {
    panel: Panel,
    text: String,
    /// Whether it has news.
    is_open: bool,
    columns: Range<u16>,
}

/// Draws the row of the panels that are not `open`.
pub(crate) fn draw(painter: &mut Painter<'_>, model: &Model, open: &OpenPanels) {
    for tab in tabs(model, open, painter.width()) {
        let x = tab.columns.start;
        let role = if tab.is_open { Role::Text } else { Role::Dim };
        let x = painter.pieces(x, 0, &[("▸ ", Role::Dim)]);
        let key = tab.panel.sign().to_string();
        painter.pieces(x, 0, &[(&key, Role::Accent), (&tab.text, role)]);
    }
}

/// Returns the panel at a column of the row.
pub(crate) fn panel_at(model: &Model, open: &OpenPanels, width: u16, x: u16) -> Option<Panel> {
    let mut tabs = tabs(model, open, width).into_iter();
    tabs.find(|tab| tab.columns.contains(&x))
        .map(|tab| tab.panel)
}

/// Returns the tabs that fit: the layout's folded panels, then the others.
fn tabs(model: &Model, open: &OpenPanels, width: u16) -> Vec<Tab> {
    let is_open = |panel: &Panel| open.iter().any(|(open, _)| open == panel);
    let closed = Panel::ALL.into_iter().filter(|panel| !is_open(panel));
    let mut closed: Vec<Panel> = closed.collect();
    closed.sort_by_key(|panel| !model.arrangement.shows(*panel));
    let mut tabs = Vec::new();
    let mut x = 1;
    for panel in closed {
        let news = (body(panel).news)(model);
        let text = match news.words.as_str() {
            "" => format!(" {}", panel.name()),
            words => format!(" {} ({words})", panel.name()),
        };
        let end = x + 3 + format::width(&text);
        if end <= width {
            tabs.push(Tab {
                panel,
                text,
                is_open: !news.is_quiet,
                columns: x..end,
            });
            x = end + 2;
        }
    }
    tabs
}
