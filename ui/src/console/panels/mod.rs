//! The parts of the screen, one file each: pure functions of the model.

mod allocation;
mod footer;
mod header;
mod keys;
mod latency;
mod lints;
mod log;
mod members;
mod proposal;
mod search;
mod streams;
mod throughput;

pub use allocation::{cell_at, gpu_words, rows_needed as allocation_rows};
pub use lints::texts as lint_texts;
pub use streams::{StreamRow, StreamsView as StreamView};
pub use streams::{keys as stream_keys, rows_needed as stream_rows};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::format;
use super::layout::{self, LEAST};
use super::model::{Model, Panel};
use super::painter::Painter;
use super::theme::Role;
use super::{
    demo,
    dialogs::{self, Dialog},
};

/// Draws the whole screen.
pub fn draw(model: &Model, buffer: &mut Buffer) {
    let area = *buffer.area();
    match layout::arrange(area, model) {
        Some(screen) => draw_screen(model, buffer, area, &screen),
        None => too_small(
            &mut Painter::new(buffer, area, &model.settings.styles),
            model,
        ),
    }
    let mut over = Painter::new(buffer, area, &model.settings.styles);
    demo::draw(&mut over, model);
    model.settings.styles.finish(model.look, buffer);
}

fn draw_screen(model: &Model, buffer: &mut Buffer, area: Rect, screen: &layout::ScreenAreas) {
    let look = &model.settings.styles;
    header::draw(&mut Painter::new(buffer, screen.header, look), model);
    for (panel, place) in &screen.panels {
        draw_panel(&mut Painter::new(buffer, *place, look), *panel, model);
    }
    if let Some(line) = screen.latency {
        latency::draw_line(&mut Painter::new(buffer, line, look), model);
    }
    let under = Rect {
        height: area.height.saturating_sub(1),
        ..area
    };
    dialogs::draw(&mut Painter::new(buffer, under, look), model);
    let rows = footer::rows(model, screen.footer.width).max(1);
    let footer = Rect {
        y: screen.footer.y.saturating_sub(rows - 1),
        height: rows.min(screen.footer.y + 1),
        ..screen.footer
    };
    footer::draw(&mut Painter::new(buffer, footer, look), model);
}

fn draw_panel(pen: &mut Painter<'_>, panel: Panel, model: &Model) {
    match panel {
        Panel::Allocation => allocation::draw(pen, model),
        Panel::Search => search::draw(pen, model),
        Panel::Streams => streams::draw(pen, model),
        Panel::Latency => latency::draw(pen, model),
        Panel::Throughput => throughput::draw(pen, model),
        Panel::Log => log::draw(pen, model),
        Panel::Members => members::draw(pen, model),
    }
}

fn too_small(pen: &mut Painter<'_>, model: &Model) {
    // What was asked can be answered all the same.
    let text = match model.dialogs.last() {
        Some(Dialog::Leave(leave)) => leave.short(),
        _ => format!(
            "The terminal is too small: the console needs {}×{}.",
            LEAST.0, LEAST.1
        ),
    };
    let lines = format::wrap(&text, pen.width());
    for (y, line) in lines.iter().enumerate() {
        pen.text(0, y as u16, line, Role::Text);
    }
}

/// A panel's title and the pen for what is under it: its number and name, what it shows
/// just now, and the focus. The last row is left to the panel, outside of that pen.
fn framed<'a>(pen: &'a mut Painter<'_>, panel: Panel, note: &str, model: &Model) -> Painter<'a> {
    let (width, height) = (pen.width(), pen.height());
    title(pen, panel, note, model);
    pen.part(1, 1, width.saturating_sub(2), height.saturating_sub(2))
}

/// The same with the last row.
fn headed<'a>(pen: &'a mut Painter<'_>, panel: Panel, note: &str, model: &Model) -> Painter<'a> {
    let (width, height) = (pen.width(), pen.height());
    title(pen, panel, note, model);
    pen.part(1, 1, width.saturating_sub(2), height.saturating_sub(1))
}

fn title(pen: &mut Painter<'_>, panel: Panel, note: &str, model: &Model) {
    let title = format!("{} {}", panel.index() + 1, panel.name());
    // A note is given whole or not at all.
    let room = pen.width().saturating_sub(5 + format::width(&title));
    let note = if format::width(note) <= room {
        note
    } else {
        ""
    };
    pen.ruled(&title, note, model.focus == panel);
}
