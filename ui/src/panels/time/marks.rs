//! The changes: their signs below the curves, and their words with their times of day; and since
//! when the service objective is met or missed.

use std::time::Duration;

use divisi_session::{Figure, FigureRecord, Mark};

use super::super::throughput::letter;
use super::axis;
use super::plan::TimePlan;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// Draws the signs of the changes in their columns.
pub(super) fn draw_signs(inside: &mut Painter<'_>, y: u16, plan: &TimePlan, model: &Model) {
    inside.text(0, y, "changes", Role::Dim);
    for mark in &model.snapshot.marks {
        if let Some(cell) = plan.cell_of(mark.at) {
            inside.sign(plan.left + cell, y, letter(mark.kind), Role::Warn);
        }
    }
}

/// Writes the changes up to the cursor, the newest first, in `rows` rows. Those in the column of the
/// cursor stand out.
pub(super) fn draw_list(
    inside: &mut Painter<'_>,
    y: u16,
    rows: u16,
    plan: &TimePlan,
    model: &Model,
) {
    let cell = model.time.cursor().and_then(|at| plan.cell_of(at));
    let column = cell.map(|cell| plan.bounds_of(cell));
    let (from, until) = plan.bounds();
    let end = column.map_or(until, |(_, end)| end);
    let shown = model.snapshot.marks.iter().rev();
    let mut shown = shown
        .filter(|mark| mark.at >= from && mark.at <= end)
        .peekable();
    if rows > 0 && shown.peek().is_none() {
        inside.text(0, y, "no change in this time", Role::Dim);
    }
    for (row, mark) in shown.take(usize::from(rows)).enumerate() {
        let is_here = column.is_some_and(|(start, end)| mark.at >= start && mark.at < end);
        draw_mark(inside, y + row as u16, mark, is_here, model);
    }
}

fn draw_mark(inside: &mut Painter<'_>, y: u16, mark: &Mark, is_here: bool, model: &Model) {
    let clock = model.clock.at(&model.snapshot, mark.at);
    let clock = clock.unwrap_or_default();
    let ago = axis::before(model.snapshot.now.saturating_sub(mark.at));
    let pieces = [
        (format!("{clock:<9}"), Role::Text),
        (format!("{ago:>13}  "), Role::Dim),
        (format!("{} ", letter(mark.kind)), Role::Warn),
    ];
    let x = inside.line(0, y, &pieces);
    let text = format::fit(&mark.text, inside.width().saturating_sub(x));
    let role = if is_here { Role::Strong } else { Role::Text };
    inside.text(x, y, &text, role);
}

/// Writes whether the service objective is met, and for how long. Returns the number of rows used.
pub(super) fn draw_objective(inside: &mut Painter<'_>, y: u16, model: &Model) -> u16 {
    let Some(target) = model.snapshot.target else {
        return 0;
    };
    let percent = format::permille(target.share);
    let limit = format::duration(target.latency);
    let what = format!("objective {} within {limit}: ", percent.trim());
    let (words, role) = match objective_run(model, target.share) {
        Some((true, time)) => (format!("met for {}", format::seconds(time)), Role::Good),
        Some((false, time)) => (format!("missed for {}", format::seconds(time)), Role::Bad),
        None => ("no requests yet".to_owned(), Role::Dim),
    };
    inside.pieces(0, y, &[(&what, Role::Dim), (&words, role)]);
    1
}

/// Returns whether the last second with requests met the objective, and for how long that has been
/// so without a change. Seconds without requests do not count.
fn objective_run(model: &Model, share: f64) -> Option<(bool, Duration)> {
    let met = |record: &FigureRecord| {
        let met = record.figure(Figure::Met)?;
        Some((record.from(), f64::from(met.low) >= share))
    };
    let mut seconds = model.figures.records().rev().filter_map(met);
    let (mut from, is_met) = seconds.next()?;
    for (earlier, _) in seconds.take_while(|(_, met)| *met == is_met) {
        from = earlier;
    }
    Some((is_met, model.snapshot.now.saturating_sub(from)))
}
