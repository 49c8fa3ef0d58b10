//! Callers as rows, the busiest first: of all models, or of one.

use std::time::Duration;

use divisi_session::{CallerFigures, CallerView};

use super::caller_columns::{CallerColumn, CallerColumns};
use crate::look::{Painter, Role};
use crate::text::format;

/// The width of the mark that a name belongs to a key.
const SIGN: u16 = 4;

/// The callers, and the times of their counts.
pub(super) struct CallerRows<'a> {
    /// The listed callers.
    pub callers: &'a [CallerView],
    /// All other callers together, and their number.
    pub others: Option<&'a (usize, CallerFigures)>,
    /// The time over which calls are counted.
    pub window: Duration,
    /// The time over which rates are measured.
    pub rate_window: Duration,
}

impl CallerRows<'_> {
    /// Returns the number of rows that show all, with the heading.
    pub(super) fn needed(&self) -> usize {
        1 + self.callers.len() + usize::from(self.others.is_some())
    }

    /// Draws the callers, scrolled by `down` rows. The heading shows the time of the counts if
    /// there is room.
    pub(super) fn draw(&self, inside: &mut Painter<'_>, head: &str, down: usize) {
        let room = inside.width().saturating_sub(1 + SIGN);
        let columns = CallerColumns::fitting(room, self.longest());
        self.heads(inside, head, &columns);
        let others = u16::from(self.others.is_some());
        let room = usize::from(inside.height().saturating_sub(1 + others));
        let first = down.min(self.callers.len().saturating_sub(room));
        let shown = self.callers.iter().skip(first).take(room);
        let mut y = 1;
        for caller in shown {
            let sign = if caller.has_key { "key" } else { "" };
            inside.text(1, y, sign, Role::Dim);
            row(inside, y, &caller.name, &caller.figures, &columns);
            y += 1;
        }
        if self.callers.is_empty() && self.others.is_none() {
            inside.text(1 + SIGN, y, "no recent calls", Role::Dim);
        }
        if let Some((count, figures)) = self.others {
            row(inside, y, &others_name(*count), figures, &columns);
        }
    }

    /// Returns the width of the longest name.
    fn longest(&self) -> u16 {
        let names = self
            .callers
            .iter()
            .map(|caller| format::width(&caller.name));
        let others = self.others.map(|(count, _)| others_name(*count));
        let others = others.map_or(0, |name| format::width(&name));
        names.max().unwrap_or(0).max(others)
    }

    fn heads(&self, inside: &mut Painter<'_>, head: &str, columns: &CallerColumns) {
        let head = format::fit(head, columns.names);
        inside.text(1 + SIGN, 0, &head, Role::Dim);
        let over = |column: &CallerColumn| {
            let window = if column.is_rate {
                self.rate_window
            } else {
                self.window
            };
            format!("{} {}", column.name, format::counted_over(window))
        };
        let mut end = 1 + SIGN + columns.names;
        for column in &columns.shown {
            end += columns.width(column);
            let head = match columns.are_wide {
                true => over(column),
                false => column.name.to_owned(),
            };
            inside.text_right(end, 0, &head, Role::Dim);
        }
    }
}

/// Returns the name for `count` callers that are not listed.
pub(super) fn others_name(count: usize) -> String {
    match count {
        0 => "others".into(),
        count => format!("{count} others"),
    }
}

fn row(
    inside: &mut Painter<'_>,
    y: u16,
    name: &str,
    figures: &CallerFigures,
    columns: &CallerColumns,
) {
    let name = format::fit_name(name, columns.names);
    inside.text(1 + SIGN, y, &name, Role::Text);
    let mut end = 1 + SIGN + columns.names;
    for column in &columns.shown {
        end += columns.width(column);
        let (text, role) = columns.cell(column, figures);
        inside.text_right(end, y, &text, role);
    }
}

/// Returns calls per second, with one decimal for slow callers.
pub(super) fn per_second(rate: f64) -> String {
    match rate {
        rate if rate < 9.95 => format!("{:.1}", rate.max(0.0)),
        rate => format::grouped(rate.round() as u64),
    }
}
