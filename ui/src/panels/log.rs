//! The program's own log, newest last.

use divisi::session::LogEntry;

use super::frame::headed;
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::{Severity, format};

/// Draws the panel.
pub(super) fn draw(painter: &mut Painter<'_>, model: &Model) {
    let note = match model.log_back {
        0 => String::new(),
        n => format!("{n} lines back"),
    };
    let mut inside = headed(painter, Panel::Log, &note, model);
    let entries = &model.snapshot.log;
    if entries.is_empty() {
        inside.text(1, 0, "nothing to report", Role::Dim);
    }
    let room = usize::from(inside.height());
    let last = entries
        .len()
        .saturating_sub(model.log_back)
        .max(room.min(entries.len()));
    let first = last.saturating_sub(room);
    for (y, entry) in entries[first..last].iter().enumerate() {
        line(&mut inside, y as u16, entry);
    }
}

fn line(inside: &mut Painter<'_>, y: u16, entry: &LogEntry) {
    let wide = inside.width() >= 44;
    let severity = Severity::from(entry.level);
    let role = Role::from(severity);
    let word = match (severity, wide) {
        (Severity::Information, true) => "info  ".to_owned(),
        (Severity::Warning, true) => "WARN  ".to_owned(),
        (Severity::Fault, true) => "FAULT ".to_owned(),
        (grave, false) => format!("{} ", grave.sign()),
    };
    let mut x = 1;
    if wide {
        x = inside.text(
            x,
            y,
            &format!("{:>8.1} ", entry.at.as_secs_f64()),
            Role::Dim,
        );
    }
    x = inside.text(x, y, &word, role);
    let room = inside.width().saturating_sub(x);
    let text = if severity == Severity::Information {
        Role::Text
    } else {
        role
    };
    inside.text(x, y, &format::fit(&entry.text, room), text);
}
