//! Figures over time: a row for each measured figure, one time axis, and the changes.

mod axis;
mod marks;
mod plan;
mod rows;

pub(crate) use plan::TimePlan;

use divisi_session::FigureRecord;

use super::body::{PanelBody, height_for};
use super::frame::headed;
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use rows::{FigureRow, ROWS};

/// The most rows of a figure.
const TALLEST: u16 = 3;

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    least_width: |_| 44,
    height: |model, _| height_for(measured(model).len() * usize::from(TALLEST) + 10, 8),
    scroll_end: |model, _, rows| {
        let room = TimeRows::new(rows as u16, model).figures;
        measured(model).len().saturating_sub(usize::from(room))
    },
    ..PanelBody::new(draw)
};

/// The rows of the panel.
struct TimeRows {
    /// The number of figures that fit.
    figures: u16,
    /// The rows of each figure.
    each: u16,
    /// The rows of the axis.
    axis: u16,
    /// The rows below the signs of changes.
    below: u16,
}

impl TimeRows {
    fn new(height: u16, model: &Model) -> Self {
        let all = measured(model).len() as u16;
        // A row for the signs of changes, and one for their words.
        let axis = if height > all + 4 { 2 } else { 1 };
        let room = height.saturating_sub(axis + 1);
        let wanted = if room > all { 3 } else { 1 };
        let each = (room.saturating_sub(wanted) / all.max(1)).clamp(1, TALLEST);
        let figures = all.min(room.saturating_sub(1) / each).max(1);
        TimeRows {
            figures,
            each,
            axis,
            below: room.saturating_sub(figures * each),
        }
    }
}

/// Returns the figures that were measured in the session.
fn measured(model: &Model) -> Vec<&'static FigureRow> {
    let has = |row: &&FigureRow| {
        let mut records = model.figures.records().rev();
        records.any(|record| record.figure(row.figure).is_some())
    };
    ROWS.iter().filter(has).collect()
}

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let plan = TimePlan::new(model, painter.width().saturating_sub(2));
    let note = note(model, &plan);
    let mut inside = headed(painter, Panel::Time, &note, model);
    let measured = measured(model);
    if measured.is_empty() {
        inside.text(1, 0, "figures appear after the first second", Role::Dim);
        return;
    }
    let rows = TimeRows::new(inside.height(), model);
    let dots = plan.dots(&model.figures);
    let read = read(model, &plan);
    let figures = usize::from(rows.figures);
    let first = model.scrolled(Panel::Time);
    let first = first.min(measured.len().saturating_sub(figures));
    let mut y = 0;
    for row in measured.iter().skip(first).take(figures) {
        row.draw(&mut inside, (y, rows.each), &plan, &dots, read.as_ref());
        y += rows.each;
    }
    axis::draw(&mut inside, y, rows.axis, &plan, model);
    marks::draw_signs(&mut inside, y + rows.axis, &plan, model);
    draw_cursor(&mut inside, y + rows.axis + 1, &plan, model);
    let y = y + rows.axis + 1;
    let used = match rows.below {
        0 | 1 => 0,
        _ => marks::draw_objective(&mut inside, y, model),
    };
    marks::draw_list(&mut inside, y + used, rows.below - used, &plan, model);
}

/// Returns the figures in the column of the cursor, or of the last second.
fn read(model: &Model, plan: &TimePlan) -> Option<FigureRecord> {
    let Some(at) = model.time.cursor() else {
        return model.figures.last().cloned();
    };
    let (from, until) = plan.bounds_of(plan.cell_of(at)?);
    model.figures.within(from, until)
}

/// Highlights the column of the cursor in `height` rows.
fn draw_cursor(inside: &mut Painter<'_>, height: u16, plan: &TimePlan, model: &Model) {
    let cell = model.time.cursor().and_then(|at| plan.cell_of(at));
    let Some(cell) = cell else { return };
    (0..height).for_each(|y| inside.restyle(plan.left + cell, y, 1, Role::Cursor));
}

/// Returns the visible time, the time of a column, and the time of the values.
fn note(model: &Model, plan: &TimePlan) -> String {
    let length = model.time.length(model.recorded_time());
    let length = match model.time.is_whole() {
        true => format!("whole session, {}", format::seconds(length)),
        false => format::seconds(length),
    };
    let column = plan.column_length();
    let values = match model.time.cursor() {
        Some(at) => {
            let clock = model.clock.at(&model.snapshot, at);
            let ago = axis::before(model.snapshot.now.saturating_sub(at));
            format!("values at {} ({ago})", clock.unwrap_or_default())
        }
        None => "values of the last second".to_owned(),
    };
    format!("{length} · column {} · {values}", format::duration(column))
}
