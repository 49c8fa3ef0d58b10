//! The parts of the screen, as pure functions of the model.

mod allocation;
mod areas;
mod caller_columns;
mod callers;
mod clients;
mod demo_bar;
mod frame;
mod header;
mod keys;
mod latency;
mod lints;
mod log;
mod member_columns;
mod members;
mod models;
mod search;
mod steps;
mod streams;
mod tasks;
mod throughput;
pub(crate) mod what_if;

pub(crate) use allocation::cell_at;
pub(crate) use areas::{
    LEAST, ScreenAreas, arrange, columns_on_screen, rows_on_screen, streams_on_screen,
};
pub(crate) use clients::rows as caller_rows;
pub(crate) use demo_bar::draw as draw_demo_bar;
pub(crate) use header::draw as draw_header;
pub(crate) use keys::{draw_footer, footer_rows};
pub(crate) use latency::draw_line as draw_latency_line;
pub use lints::texts as lint_texts;
pub(crate) use log::rows as log_rows;
pub(crate) use models::cursor as model_cursor;
pub(crate) use steps::rows_of as step_rows;
pub(crate) use streams::{StreamRow, StreamsView, keys as stream_keys};
pub(crate) use tasks::rows_in as task_rows;

use crate::layout::Panel;
use crate::look::Painter;
use crate::model::Model;

/// Draws a panel.
pub(crate) fn draw(painter: &mut Painter<'_>, panel: Panel, model: &Model) {
    match panel {
        Panel::Allocation => allocation::draw(painter, model),
        Panel::Search => search::draw(painter, model),
        Panel::Streams => streams::draw(painter, model),
        Panel::Latency => latency::draw(painter, model),
        Panel::Throughput => throughput::draw(painter, model),
        Panel::Log => log::draw(painter, model),
        Panel::Members => members::draw(painter, model),
        Panel::Steps => steps::draw(painter, model),
        Panel::Models => models::draw(painter, model),
        Panel::Clients => clients::draw(painter, model),
        Panel::Tasks => tasks::draw(painter, model),
    }
}
