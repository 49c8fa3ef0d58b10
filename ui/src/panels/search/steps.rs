//! The steps that the search took, newest last.

use divisi::allocation::Cell;
use divisi::ensemble::BatchSize;
use divisi::search::Accepted;
use divisi::session::SearchView;

use super::heat;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// Draws as many as fit, scrolled back as far as the user wants.
pub(super) fn draw(area: &mut Painter<'_>, search: &SearchView, model: &Model) {
    let steps = &search.progress.accepted;
    let rows = usize::from(area.height().saturating_sub(1));
    if rows == 0 || steps.is_empty() {
        return;
    }
    let least = rows.min(steps.len());
    let last = steps.len().saturating_sub(model.search_back).max(least);
    let first = last.saturating_sub(rows);
    let hidden = match steps.len() > rows {
        true => format!(" · {}–{last} of {} · ↑ ↓", first + 1, steps.len()),
        false => String::new(),
    };
    let head = format!("steps taken, after so many evaluations{hidden}");
    let head = match format::width(&head) <= area.width() {
        true => head,
        false => format!("steps taken{hidden}"),
    };
    area.text(0, 0, &format::fit(&head, area.width()), Role::Dim);
    for (row, at) in (first..last).enumerate() {
        let before = at.checked_sub(1).and_then(|b| steps.get(b));
        line(area, row as u16 + 1, &steps[at], before, model);
    }
}

fn line(area: &mut Painter<'_>, y: u16, step: &Accepted, before: Option<&Accepted>, model: &Model) {
    let evaluations = format!("{:>7}", format::grouped(step.evaluations as u64));
    let score = format!("{:>8}", format::grouped(step.score.max(0.0).round() as u64));
    // Predictions and runs are not to be compared.
    let like = before.filter(|b| b.run == step.run);
    let gain = like.and_then(|b| format::gain(b.score, step.score));
    let gain = format!("{:>7}  ", gain.unwrap_or_default());
    let x = area.pieces(
        0,
        y,
        &[
            (&evaluations, Role::Dim),
            (&score, Role::Text),
            (&gain, Role::Good),
        ],
    );
    let changes = match step.changes.as_slice() {
        [] if step.run => "what was found, run".to_owned(),
        [] => "start".to_owned(),
        [(cell, to)] => change(model, *cell, *to),
        [(cell, to), rest @ ..] => format!("{}, {} more", change(model, *cell, *to), rest.len()),
    };
    let changes = match step.run && !step.changes.is_empty() {
        true => format!("run: {changes}"),
        false => changes,
    };
    let room = area.width().saturating_sub(x);
    area.text(x, y, &format::fit(&changes, room), Role::Text);
}

/// Describes a change by its new batch size. The old one is left out, as it may have changed
/// since.
fn change(model: &Model, cell: Cell, to: Option<BatchSize>) -> String {
    let size = to.map_or(0, BatchSize::get);
    format!("{} → {size}", heat::place(model, cell))
}
