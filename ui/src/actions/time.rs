//! Navigation in the figures over time.

use std::time::Duration;

use ratatui::layout::{Position, Rect};

use crate::layout::Panel;
use crate::model::Model;
use crate::panels::{TimePlan, columns_inside};

/// Shows less or more time.
pub(crate) fn zoom(model: &mut Model, by: isize) {
    let whole = model.recorded_time();
    model.time.zoom(by, whole);
}

/// Moves by a part of the picture, forward or backward.
pub(crate) fn pan(model: &mut Model, pictures: f64) {
    let whole = model.recorded_time();
    model.time.pan(pictures, whole);
}

/// Shows the start of the session, or the present.
pub(crate) fn leap(model: &mut Model, direction: isize) {
    let whole = model.recorded_time();
    match direction < 0 {
        true => model.time.oldest(whole),
        false => model.time.go_live(),
    }
}

/// Moves the cursor by a number of columns.
pub(super) fn step(model: &mut Model, columns: isize) {
    let whole = model.recorded_time();
    let column = column(model);
    model.time.step(columns, column, whole);
}

/// Returns the time of a column.
fn column(model: &Model) -> Duration {
    TimePlan::new(model, columns_inside(model, Panel::Time)).column_length()
}

/// Handles a click: sets the cursor to the time at that place of the panel.
pub(super) fn click(model: &mut Model, area: Rect, at: Position) {
    let plan = TimePlan::new(model, area.width.saturating_sub(2));
    let x = at.x.saturating_sub(area.x).checked_sub(1);
    if let Some(cell) = x.and_then(|x| plan.cell_at(x)) {
        let whole = model.recorded_time();
        model.time.set_cursor(plan.middle_of(cell), whole);
    }
}

/// Handles `Esc`: removes the cursor, then follows the present. Returns false if there was nothing to
/// undo.
pub(crate) fn back(model: &mut Model) -> bool {
    if model.time.leave_cursor() {
        return true;
    }
    let was_live = model.time.is_live();
    model.time.go_live();
    !was_live
}
