//! The whole screen: header, panels, dialogs, footer, and the bar of a demonstration.

use std::path::PathBuf;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::state::ConsoleState;
use crate::dialogs::Dialog;
use crate::look::{Painter, Role, picture};
use crate::model::Effect;
use crate::panels::{self, LEAST, ScreenAreas};
use crate::text::format;

/// Draws the whole screen.
pub(super) fn draw(state: &ConsoleState, buffer: &mut Buffer) {
    let area = *buffer.area();
    let model = &state.model;
    match panels::arrange(area, model) {
        Some(screen) => draw_screen(state, buffer, area, &screen),
        None => too_small(
            &mut Painter::new(buffer, area, &model.settings.styles),
            state,
        ),
    }
    let mut over = Painter::new(buffer, area, &model.settings.styles);
    panels::draw_demo_bar(&mut over, model);
    model.settings.styles.finish(model.look, buffer);
}

fn draw_screen(state: &ConsoleState, buffer: &mut Buffer, area: Rect, screen: &ScreenAreas) {
    let model = &state.model;
    let look = &model.settings.styles;
    panels::draw_header(&mut Painter::new(buffer, screen.header, look), model);
    for (panel, place) in &screen.panels {
        panels::draw(&mut Painter::new(buffer, *place, look), *panel, model);
        // A demonstration speaks about the focused panel.
        if model.demo.is_some() && *panel != model.focus {
            buffer.set_style(*place, Style::new().add_modifier(Modifier::DIM));
        }
    }
    if let Some(tabs) = screen.tabs {
        panels::draw_tabs(&mut Painter::new(buffer, tabs, look), model, &screen.panels);
    }
    if let Some(seek) = screen.seek {
        panels::draw_seek(&mut Painter::new(buffer, seek, look), model);
    }
    if let Some(line) = screen.latency {
        panels::draw_latency_line(&mut Painter::new(buffer, line, look), model);
    }
    let under = Rect {
        height: area.height.saturating_sub(1),
        ..area
    };
    let mut over = Painter::new(buffer, under, look);
    for dialog in &state.dialogs {
        dialog.body().draw(&mut over, model);
    }
    let rows = panels::footer_rows(model, screen.footer.width).max(1);
    let footer = Rect {
        y: screen.footer.y.saturating_sub(rows - 1),
        height: rows.min(screen.footer.y + 1),
        ..screen.footer
    };
    panels::draw_footer(&mut Painter::new(buffer, footer, look), model);
}

fn too_small(painter: &mut Painter<'_>, state: &ConsoleState) {
    // The dialog on top can still be answered.
    let text = match state.dialogs.last() {
        Some(Dialog::Leave(leave)) => leave.short(),
        _ => format!(
            "The terminal is too small: the console needs {}×{}.",
            LEAST.0, LEAST.1
        ),
    };
    let lines = format::wrap(&text, painter.width());
    for (y, line) in lines.iter().enumerate() {
        painter.text(0, y as u16, line, Role::Text);
    }
}

/// Returns the effects that write the current screen as text, as text with colours, and as a
/// drawing.
pub(super) fn pictures(state: &ConsoleState) -> Vec<Effect> {
    let model = &state.model;
    // A terminal without rows or columns has nothing to show.
    if model.area.is_empty() {
        return Vec::new();
    }
    let mut screen = Buffer::empty(model.area);
    draw(state, &mut screen);
    let styles = &model.settings.styles;
    let name = format!(
        "divisi-{}-{}s",
        model.snapshot.ensemble,
        model.snapshot.now.as_secs()
    );
    let written = [
        ("txt", picture::text(&screen)),
        ("ans", picture::ansi(&screen)),
        ("svg", picture::svg(&screen, styles)),
    ];
    let effects = written.into_iter().map(|(ending, text)| Effect::Write {
        path: PathBuf::from(format!("{name}.{ending}")),
        bytes: text.into_bytes(),
        replace: false,
    });
    effects.collect()
}
