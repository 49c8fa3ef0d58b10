//! The parts of the screen: pure functions of the model. A panel has a frame with its number and
//! name, what it shows just now, and the focus.

mod allocation;
mod areas;
mod demo_bar;
mod header;
mod keys;
mod latency;
mod lints;
mod log;
mod members;
mod search;
mod streams;
mod throughput;
pub(crate) mod what_if;

pub(crate) use allocation::cell_at;
pub(crate) use areas::{LEAST, ScreenAreas, arrange, streams_on_screen};
pub(crate) use demo_bar::draw as draw_demo_bar;
pub(crate) use header::draw as draw_header;
pub(crate) use keys::{draw_footer, footer_rows};
pub(crate) use latency::draw_line as draw_latency_line;
pub use lints::texts as lint_texts;
pub(crate) use streams::{StreamRow, StreamsView, keys as stream_keys};

use crate::layout::Panel;
use crate::look::Painter;
use crate::model::Model;
use crate::text::format;

/// Draws one panel.
pub(crate) fn draw(painter: &mut Painter<'_>, panel: Panel, model: &Model) {
    match panel {
        Panel::Allocation => allocation::draw(painter, model),
        Panel::Search => search::draw(painter, model),
        Panel::Streams => streams::draw(painter, model),
        Panel::Latency => latency::draw(painter, model),
        Panel::Throughput => throughput::draw(painter, model),
        Panel::Log => log::draw(painter, model),
        Panel::Members => members::draw(painter, model),
    }
}

/// A panel's title and the painter for what is under it: its number and name, what it shows
/// just now, and the focus. The last row is left to the panel, outside of that painter.
fn framed<'a>(
    painter: &'a mut Painter<'_>,
    panel: Panel,
    note: &str,
    model: &Model,
) -> Painter<'a> {
    let (width, height) = (painter.width(), painter.height());
    title(painter, panel, note, model);
    painter.part(1, 1, width.saturating_sub(2), height.saturating_sub(2))
}

/// The same with the last row.
fn headed<'a>(
    painter: &'a mut Painter<'_>,
    panel: Panel,
    note: &str,
    model: &Model,
) -> Painter<'a> {
    let (width, height) = (painter.width(), painter.height());
    title(painter, panel, note, model);
    painter.part(1, 1, width.saturating_sub(2), height.saturating_sub(1))
}

fn title(painter: &mut Painter<'_>, panel: Panel, note: &str, model: &Model) {
    let title = format!("{} {}", panel.index() + 1, panel.name());
    // A note is given whole or not at all.
    let room = painter.width().saturating_sub(5 + format::width(&title));
    let note = if format::width(note) <= room {
        note
    } else {
        ""
    };
    painter.ruled(&title, note, model.focus == panel);
}
