//! The mouse: on the footer, the row of folded panels, the seek bar, panels and dialogs.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use divisi_session::{Command, Play};
use ratatui::layout::{Position, Rect};

use super::stack;
use super::state::ConsoleState;
use crate::layout::Panel;
use crate::model::{Effect, Model};
use crate::{actions, panels};

/// Handles an event of the mouse and returns the requested effects.
pub(super) fn on_mouse(state: &mut ConsoleState, mouse: &MouseEvent) -> Vec<Effect> {
    let at = Position::new(mouse.column, mouse.row);
    if !state.dialogs.is_empty() {
        return on_dialog_wheel(state, mouse);
    }
    let Some(screen) = panels::arrange(state.model.area, &state.model) else {
        return Vec::new();
    };
    let clicked = mouse.kind == MouseEventKind::Down(MouseButton::Left);
    let model = &mut state.model;
    let width = screen.footer.width;
    if clicked && screen.footer.contains(at) {
        let command = panels::footer_command(model, width, at.x);
        model.message = None;
        return command.map_or(Vec::new(), |command| state.run(command));
    }
    if clicked && screen.seek.is_some_and(|seek| seek.contains(at)) {
        let playback = model.snapshot.playback.as_ref();
        let seek = playback.map(|played| Play::Seek(panels::seek_position(played, width, at.x)));
        let send = |play| Effect::Send(Command::Play(play));
        return seek.map(send).into_iter().collect();
    }
    if clicked && screen.tabs.is_some_and(|tabs| tabs.contains(at)) {
        let panel = panels::tab_at(model, &screen.panels, width, at.x);
        model.focus = panel.unwrap_or(model.focus);
    }
    let hit = screen.panels.into_iter().find(|(_, r)| r.contains(at));
    if let Some((panel, place)) = hit {
        on_panel_mouse(model, panel, place, mouse);
    }
    Vec::new()
}

/// Scrolls the dialog on top. The wheel moves like the arrow keys, so it never answers a question.
fn on_dialog_wheel(state: &mut ConsoleState, mouse: &MouseEvent) -> Vec<Effect> {
    let code = match mouse.kind {
        MouseEventKind::ScrollUp => KeyCode::Up,
        MouseEventKind::ScrollDown => KeyCode::Down,
        _ => return Vec::new(),
    };
    let key = KeyEvent::new(code, KeyModifiers::NONE);
    stack::on_key(state, &key).unwrap_or_default()
}

/// Handles the mouse in a panel.
fn on_panel_mouse(model: &mut Model, panel: Panel, place: Rect, mouse: &MouseEvent) {
    let at = Position::new(mouse.column, mouse.row);
    let streams = panel == Panel::Streams && model.edit.is_none();
    if streams && actions::streams::on_mouse(model, place, mouse) {
        if matches!(mouse.kind, MouseEventKind::Down(_)) {
            model.focus = panel;
        }
        return;
    }
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => actions::look_at(model, panel, place, at),
        MouseEventKind::ScrollUp => actions::scroll(model, panel, -1),
        MouseEventKind::ScrollDown => actions::scroll(model, panel, 1),
        _ => {}
    }
}
