//! A message, a reload's step, or the keys of now.

use divisi::session::ReloadState;

use super::keys;
use crate::console::commands::{Entry, Id, TABLE};
use crate::console::format;
use crate::console::model::Model;
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// Draws the last line.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    let room = pen.width().saturating_sub(2);
    if let Some(message) = &model.message {
        let (sign, role) = if message.bad {
            ("✗", Role::Bad)
        } else {
            ("›", Role::Accent)
        };
        let text = format::fit(&format!("{sign} {}", message.text), room);
        pen.text(1, 0, &text, role);
    } else if let Some(step) = step(model) {
        pen.text(
            1,
            0,
            &format::fit(&format!("› reload: {step}"), room),
            Role::Accent,
        );
    } else {
        keys(pen, model);
    }
}

fn step(model: &Model) -> Option<&str> {
    let reload = model.snapshot.reload.as_ref();
    let running = reload.filter(|r| r.state == ReloadState::Running)?;
    running.steps.last().map(String::as_str)
}

/// As many keys as fit; how to leave is always there.
fn keys(pen: &mut Pen<'_>, model: &Model) {
    let quit = TABLE.iter().find(|e| e.id == Id::Quit);
    let end = pen.width();
    let end = end.saturating_sub(quit.map_or(0, |e| taken(e, model) + 1));
    let mut x = 1;
    let listed = TABLE
        .iter()
        .filter(|e| !e.footer.is_empty() && e.id != Id::Quit);
    let listed = listed.filter(|e| keys::is_offered(e, model));
    for entry in listed.filter(|e| e.reachable(model)) {
        if x + taken(entry, model) < end {
            x = hint(pen, x, entry, model) + 2;
        }
    }
    if let Some(entry) = quit {
        hint(pen, end, entry, model);
    }
}

fn hint(pen: &mut Pen<'_>, x: u16, entry: &Entry, model: &Model) -> u16 {
    let possible = entry.refusal(model).is_none();
    let role = if possible { Role::Accent } else { Role::Dim };
    pen.pieces(
        x,
        0,
        &[
            (&key(entry, model), role),
            (" ", role),
            (entry.footer, Role::Dim),
        ],
    )
}

fn taken(entry: &Entry, model: &Model) -> u16 {
    format::width(&key(entry, model)) + 1 + format::width(entry.footer)
}

fn key(entry: &Entry, model: &Model) -> String {
    entry.key_label(&model.settings.keys)
}
