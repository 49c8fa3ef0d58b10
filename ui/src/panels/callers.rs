//! Callers as rows, the busiest first: those of all models, or of one.

use std::time::Duration;

use divisi::session::{CallerFigures, CallerView};

use crate::look::{Painter, Role};
use crate::text::format;

/// Columns of each figure, with the gap before it.
const RATE: u16 = 14;
const CALLS: u16 = 13;
const FAILED: u16 = 13;

/// Columns of what says that a name is a key's.
const SIGN: u16 = 4;

/// Who asks, and over which times they are counted.
pub(super) struct CallerRows<'a> {
    /// The callers that are listed.
    pub callers: &'a [CallerView],
    /// All others together, and how many they are.
    pub others: Option<&'a (usize, CallerFigures)>,
    /// The time over which calls are counted.
    pub window: Duration,
    /// The time over which rates are taken.
    pub rate_window: Duration,
}

impl CallerRows<'_> {
    /// Rows that show all, with the head.
    pub(super) fn needed(&self) -> usize {
        1 + self.callers.len() + usize::from(self.others.is_some())
    }

    /// Draws them, `down` rows scrolled, under a head that says over which time they are counted.
    pub(super) fn draw(&self, inside: &mut Painter<'_>, head: &str, down: usize) {
        self.heads(inside, head);
        let others = u16::from(self.others.is_some());
        let room = usize::from(inside.height().saturating_sub(1 + others));
        let first = down.min(self.callers.len().saturating_sub(room));
        let shown = self.callers.iter().skip(first).take(room);
        let mut y = 1;
        for caller in shown {
            let sign = if caller.has_key { "key" } else { "" };
            inside.text(1, y, sign, Role::Dim);
            row(inside, y, &caller.name, &caller.figures);
            y += 1;
        }
        if self.callers.is_empty() && self.others.is_none() {
            inside.text(1 + SIGN, y, "nobody asked lately", Role::Dim);
        }
        if let Some((count, figures)) = self.others {
            row(inside, y, &others_name(*count), figures);
        }
    }

    fn heads(&self, inside: &mut Painter<'_>, head: &str) {
        let (window, rate) = (
            format::counted_over(self.window),
            format::counted_over(self.rate_window),
        );
        inside.text(
            1 + SIGN,
            0,
            &format::fit(head, name_room(inside)),
            Role::Dim,
        );
        let mut end = inside.width();
        let heads = [
            (format!("failed {window}"), FAILED),
            (format!("calls {window}"), CALLS),
            (format!("calls/s {rate}"), RATE),
        ];
        for (head, width) in heads {
            inside.text_right(end, 0, &head, Role::Dim);
            end = end.saturating_sub(width);
        }
    }
}

/// Returns what callers that are not listed are called, where so many of them are known.
pub(super) fn others_name(count: usize) -> String {
    match count {
        0 => "others".into(),
        count => format!("{count} others"),
    }
}

/// Columns for names.
fn name_room(inside: &Painter<'_>) -> u16 {
    let taken = 1 + SIGN + RATE + CALLS + FAILED;
    inside.width().saturating_sub(taken)
}

fn row(inside: &mut Painter<'_>, y: u16, name: &str, figures: &CallerFigures) {
    let room = name_room(inside);
    inside.text(1 + SIGN, y, &format::fit_name(name, room), Role::Text);
    let mut end = inside.width();
    let failed = match figures.failed {
        0 => Role::Dim,
        _ => Role::Warn,
    };
    let cells = [
        (format::grouped(figures.failed), FAILED, failed),
        (format::grouped(figures.calls), CALLS, Role::Text),
        (per_second(figures.per_second), RATE, Role::Strong),
    ];
    for (text, width, role) in cells {
        inside.text_right(end, y, &text, role);
        end = end.saturating_sub(width);
    }
}

/// Returns calls a second; of slow callers with a digit behind the point.
pub(super) fn per_second(rate: f64) -> String {
    match rate {
        rate if rate < 9.95 => format!("{:.1}", rate.max(0.0)),
        rate => format::grouped(rate.round() as u64),
    }
}
