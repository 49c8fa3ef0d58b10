//! The last errors: when, who, which model and why.

use divisi_session::{ErrorsView, RequestError};

use crate::look::{Painter, Role};
use crate::text::{error_words, format};

/// The fewest rows: a gap, the heading and an error.
const LEAST: u16 = 3;

/// The widths of times, senders and models, with the gaps after them.
const TIME: u16 = 11;
const SENDER: u16 = 18;
const MODEL: u16 = 18;

/// Returns the number of rows for the last errors of `room` rows, or 0 without errors or with too few
/// rows.
pub(super) fn rows(errors: &ErrorsView, room: u16) -> u16 {
    let needed = u16::try_from(errors.last.len()).unwrap_or(u16::MAX);
    match needed {
        0 => 0,
        needed => Some(needed.saturating_add(2).min(room))
            .filter(|rows| *rows >= LEAST)
            .unwrap_or(0),
    }
}

/// Draws the last errors, the newest first, under a gap and a heading.
pub(super) fn draw(inside: &mut Painter<'_>, errors: &ErrorsView) {
    if inside.height() < LEAST {
        return;
    }
    inside.text(1, 1, "last errors, times in UTC", Role::Dim);
    for (error, y) in errors.last.iter().zip(2..inside.height()) {
        row(inside, y, error);
    }
}

fn row(inside: &mut Painter<'_>, y: u16, error: &RequestError) {
    inside.text(1, y, &format::utc(error.at_ms), Role::Dim);
    let sender = format::fit_name(&error.sender, SENDER - 2);
    inside.text(1 + TIME, y, &sender, Role::Text);
    let model = error.model.as_ref();
    let model = model.map_or("–".to_owned(), |m| format!("{} {}", m.name, m.version));
    inside.text(
        1 + TIME + SENDER,
        y,
        &format::fit_name(&model, MODEL - 2),
        Role::Text,
    );
    let x = 1 + TIME + SENDER + MODEL;
    let why = format!("{}: {}", error_words(error.key), error.message);
    let room = inside.width().saturating_sub(x);
    inside.text(x, y, &format::fit(&why, room), Role::Text);
}
