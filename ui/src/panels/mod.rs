//! The parts of the screen, as pure functions of the model.
//!
//! Each panel is a module with a `PANEL`: its picture, size and scrolling. Its row in
//! `layout/panel.rs` has its name and key.

mod allocation;
mod areas;
mod body;
mod caller_columns;
mod callers;
mod clients;
mod columns;
mod demo_bar;
mod frame;
mod header;
mod incident;
mod keys;
mod latency;
mod lints;
mod log;
mod member_columns;
mod members;
mod models;
mod requests;
mod search;
mod seek;
mod steps;
mod streams;
mod tabs;
mod tasks;
mod throughput;
mod time;
pub(crate) mod what_if;

pub(crate) use allocation::cell_at;
pub(crate) use areas::{
    LEAST, ScreenAreas, arrange, has_place, open_panels, rows_on_screen, streams_on_screen,
};
pub(crate) use demo_bar::draw as draw_demo_bar;
pub(crate) use header::draw as draw_header;
pub(crate) use keys::{draw_footer, footer_command, footer_rows};
pub(crate) use latency::draw_line as draw_latency_line;
pub use lints::texts as lint_texts;
pub(crate) use models::cursor as model_cursor;
pub(crate) use seek::{draw as draw_seek, position_at as seek_position};
pub(crate) use streams::{StreamRow, StreamsView, keys as stream_keys};
pub(crate) use tabs::{draw as draw_tabs, panel_at as tab_at};
pub(crate) use time::TimePlan;

use crate::layout::{Panel, each_panel};
use crate::look::Painter;
use crate::model::Model;
use body::PanelBody;

macro_rules! declared {
    ($($panel:ident $module:ident $sign:literal $help:literal,)*) => {
        /// Returns a panel as its module declares it.
        fn body(panel: Panel) -> &'static PanelBody {
            match panel {
                $(Panel::$panel => &$module::PANEL,)*
            }
        }
    };
}
each_panel!(declared);

/// Draws a panel.
pub(crate) fn draw(painter: &mut Painter<'_>, panel: Panel, model: &Model) {
    (body(panel).draw)(painter, model);
}

/// Returns the number of columns inside a panel on the screen.
pub(crate) fn columns_inside(model: &Model, panel: Panel) -> u16 {
    areas::inside(model, panel).0
}

/// Returns the number of rows by which a panel is scrolled after another `step` down.
pub(crate) fn scrolled(model: &Model, panel: Panel, step: isize) -> usize {
    let (columns, rows) = areas::inside(model, panel);
    let body = body(panel);
    let end = (body.scroll_end)(model, columns, rows);
    let step = if body.is_from_end { -step } else { step };
    let at = model.scrolled(panel).min(end);
    at.saturating_add_signed(step).min(end)
}
