//! A message, a reload's step, or the keys of now.

use divisi::session::ReloadState;

use super::keys;
use crate::commands::{BINDINGS, Binding, QUIT};
use crate::look::{Painter, Role};
use crate::model::{FooterMessage, Model};
use crate::text::format;

/// Rows of a message at most.
const MOST: usize = 3;

/// Rows that it takes of `width` columns: one, or as many as what is said needs.
pub(crate) fn rows(model: &Model, width: u16) -> u16 {
    let message = model.message.as_ref();
    message.map_or(1, |m| said(m, width.saturating_sub(2)).len() as u16)
}

/// A message in lines: why something was refused is of no use when it is cut.
fn said(message: &FooterMessage, room: u16) -> Vec<String> {
    let sign = if message.bad { "✗" } else { "›" };
    let text = format!("{sign} {}", message.text);
    if format::width(&text) <= room {
        return vec![text];
    }
    let mut lines = format::wrap(&text, room);
    if lines.len() > MOST {
        let rest = lines.split_off(MOST - 1).join(" ");
        lines.push(format::fit(&rest, room));
    }
    lines
}

/// Draws the last lines.
pub(crate) fn draw(pen: &mut Painter<'_>, model: &Model) {
    let room = pen.width().saturating_sub(2);
    if let Some(message) = &model.message {
        let role = if message.bad { Role::Bad } else { Role::Accent };
        pen.erase();
        for (y, line) in said(message, room).iter().enumerate() {
            pen.text(1, y as u16, line, role);
        }
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
fn keys(pen: &mut Painter<'_>, model: &Model) {
    let quit = BINDINGS.iter().find(|b| *b.command == QUIT);
    let end = pen.width();
    let end = end.saturating_sub(quit.map_or(0, |e| taken(e, model) + 1));
    let mut x = 1;
    let listed = BINDINGS
        .iter()
        .filter(|b| !b.footer.is_empty() && *b.command != QUIT);
    let listed = listed.filter(|e| keys::is_offered(e, model));
    for entry in listed.filter(|b| model.reaches(b)) {
        if x + taken(entry, model) < end {
            x = hint(pen, x, entry, model) + 2;
        }
    }
    if let Some(entry) = quit {
        hint(pen, end, entry, model);
    }
}

fn hint(pen: &mut Painter<'_>, x: u16, entry: &Binding, model: &Model) -> u16 {
    let possible = model.check(entry).is_ok();
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

fn taken(entry: &Binding, model: &Model) -> u16 {
    format::width(&key(entry, model)) + 1 + format::width(entry.footer)
}

fn key(entry: &Binding, model: &Model) -> String {
    entry.key_label(&model.settings.keys)
}
