//! Who asks: a row a caller, the busiest first.

use divisi::session::{CallerFigures, DoorView};

use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// Columns of each figure, with the gap before it.
const RATE: u16 = 14;
const CALLS: u16 = 13;
const FAILED: u16 = 13;

/// Columns of what says that a name is a key's.
const SIGN: u16 = 4;

/// Draws them, under a head that says over which time they are counted.
pub(super) fn draw(inside: &mut Painter<'_>, door: &DoorView, model: &Model) {
    heads(inside, door);
    let others = u16::from(door.other_callers.is_some());
    let room = usize::from(inside.height().saturating_sub(1 + others));
    let first = model
        .clients_down
        .min(door.callers.len().saturating_sub(room));
    let shown = door.callers.iter().skip(first).take(room);
    let mut y = 1;
    for caller in shown {
        let sign = if caller.has_key { "key" } else { "" };
        inside.text(1, y, sign, Role::Dim);
        row(inside, y, &caller.name, &caller.figures);
        y += 1;
    }
    if door.callers.is_empty() && door.other_callers.is_none() {
        inside.text(1 + SIGN, y, "nobody asked lately", Role::Dim);
    }
    if let Some((count, figures)) = &door.other_callers {
        let name = match count {
            0 => "others".into(),
            count => format!("{count} others"),
        };
        row(inside, y, &name, figures);
    }
}

fn heads(inside: &mut Painter<'_>, door: &DoorView) {
    let (window, rate) = (
        format::counted_over(door.window),
        format::counted_over(door.rate_window),
    );
    inside.text(1 + SIGN, 0, "caller", Role::Dim);
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

fn row(inside: &mut Painter<'_>, y: u16, name: &str, figures: &CallerFigures) {
    let room = inside
        .width()
        .saturating_sub(1 + SIGN + RATE + CALLS + FAILED);
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

/// Slow callers have a digit behind the point.
fn per_second(rate: f64) -> String {
    match rate {
        rate if rate < 9.95 => format!("{:.1}", rate.max(0.0)),
        rate => format::grouped(rate.round() as u64),
    }
}
