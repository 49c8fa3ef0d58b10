//! The rows, columns and time of the timeline in a panel of a size.

use super::rows::{RowPlan, StreamRow, label};
use crate::model::Model;
use crate::text::format;
use crate::view::timeline::TimeWindow;

/// The rows and columns of the panel, including its frame.
#[derive(Debug)]
pub(crate) struct StreamsView {
    pub plan: RowPlan,
    /// The first visible row.
    pub first: usize,
    /// The number of rows that fit.
    pub room: usize,
    /// The number of lines at the foot, for typed text or a readout.
    pub foot: u16,
    /// The width of names.
    pub label: u16,
    /// The names of all rows.
    pub names: Vec<String>,
    pub window: TimeWindow,
}

impl StreamsView {
    /// Returns the view for a panel of a size.
    pub(crate) fn new(model: &Model, width: u16, height: u16) -> Self {
        let inside = height.saturating_sub(2);
        let foot = foot(model, inside);
        let room = usize::from(inside - foot);
        let plan = RowPlan::new(model, room);
        let first = first_row(model, plan.rows.len(), room);
        let width = width.saturating_sub(2);
        let (label, names) = names(model, &plan, width);
        let cells = usize::from(width.saturating_sub(label));
        let end = model.streams.end(model.snapshot.now);
        StreamsView {
            window: TimeWindow::ending(end, model.streams.length(), cells),
            plan,
            first,
            room,
            foot,
            label,
            names,
        }
    }

    /// Returns the row at a line of the panel.
    pub(crate) fn row_at(&self, y: u16) -> Option<&StreamRow> {
        let line = usize::from(y.checked_sub(1)?);
        let row = self.plan.rows.get(self.first + line)?;
        (line < self.room).then_some(row)
    }

    /// Returns the cell at a column of the panel.
    pub(crate) fn cell_at(&self, x: u16) -> Option<usize> {
        let cell = usize::from(x.checked_sub(1 + self.label)?);
        (cell < self.window.cells).then_some(cell)
    }

    /// Returns the place of the selected row.
    pub(crate) fn selected(&self, model: &Model) -> Option<usize> {
        let key = model.streams.selected?;
        self.plan.rows.iter().position(|r| r.key == key)
    }
}

fn foot(model: &Model, inside: u16) -> u16 {
    let typed = u16::from(model.streams.typing);
    let read = match (&model.streams.reading, inside) {
        (None, _) => 0,
        (Some(_), 0..7) => 1,
        (Some(_), 7..12) => 2,
        (Some(_), _) => 3,
    };
    (typed + read).min(inside)
}

fn first_row(model: &Model, rows: usize, room: usize) -> usize {
    model.streams.scroll.min(rows.saturating_sub(room))
}

/// Returns the width of names and the names, short if long ones would take too much room.
fn names(model: &Model, plan: &RowPlan, width: u16) -> (u16, Vec<String>) {
    let most = (width / 3).min(28);
    let named = |short| {
        let rows = plan.rows.iter();
        let names: Vec<String> = rows.map(|r| label(model, r, short)).collect();
        let widest = names.iter().map(|n| format::width(n)).max();
        (widest.unwrap_or(0).saturating_add(1), names)
    };
    let (wide, names) = named(false);
    if wide <= width / 6 {
        return (wide, names);
    }
    let (wide, names) = named(true);
    let wide = wide.min(most);
    let fitted = names.iter();
    let fitted = fitted.map(|n| format::fit_name(n, wide.saturating_sub(1)));
    (wide, fitted.collect())
}
