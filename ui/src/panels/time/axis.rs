//! The time axis: times of day, and times before the present.

use std::time::Duration;

use super::plan::TimePlan;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The seconds between two ticks.
const STEPS: [u64; 16] = [
    5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
];

/// The seconds of a day.
const DAY: u64 = 86_400;

/// Draws the times of day, and below them the relative times if there are two rows.
pub(super) fn draw(inside: &mut Painter<'_>, y: u16, rows: u16, plan: &TimePlan, model: &Model) {
    match model.snapshot.started {
        Some(started) => draw_clock(inside, y, plan, model, started),
        None => draw_relative(inside, y, plan, model),
    }
    if rows > 1 && model.snapshot.started.is_some() {
        draw_relative(inside, y + 1, plan, model);
    }
}

/// Draws ticks at round times of day.
fn draw_clock(inside: &mut Painter<'_>, y: u16, plan: &TimePlan, model: &Model, started: u64) {
    inside.text(0, y, "time of day", Role::Dim);
    let (from, until) = plan.bounds();
    let step = step(plan) * 1000;
    let offset = model.clock.offset_ms(started.saturating_add(millis(until)));
    // Round by the clock of the zone.
    let local = |at: u64| at.saturating_add_signed(offset);
    let first = local(started.saturating_add(millis(from))).div_ceil(step);
    let last = local(started.saturating_add(millis(until))) / step;
    for tick in first..=last {
        let at = (tick * step).saturating_add_signed(-offset);
        let since = Duration::from_millis(at.saturating_sub(started));
        if let Some(cell) = plan.cell_of(since) {
            let text = format!("╵{}", tick_words(model, at, step / 1000));
            let room = (plan.left + plan.cells).saturating_sub(plan.left + cell);
            if format::width(&text) <= room {
                inside.text(plan.left + cell, y, &text, Role::Dim);
            }
        }
    }
}

fn tick_words(model: &Model, at: u64, step: u64) -> String {
    match step {
        0..60 => model.clock.time(at),
        60..DAY => model.clock.minute(at),
        _ => model.clock.day(at),
    }
}

/// Returns the seconds between ticks, so that their texts have room.
fn step(plan: &TimePlan) -> u64 {
    let each = plan.column_length().as_secs_f64();
    let fits = |step: &u64| {
        let room = match *step {
            0..60 => 11.0,
            60..DAY => 8.0,
            _ => 15.0,
        };
        *step as f64 >= each * room
    };
    let found = STEPS.into_iter().find(fits);
    let days = (each * 15.0 / DAY as f64).ceil().max(1.0) as u64;
    found.unwrap_or(days.saturating_mul(DAY))
}

/// Draws the time before the present at the edges and in the middle.
fn draw_relative(inside: &mut Painter<'_>, y: u16, plan: &TimePlan, model: &Model) {
    inside.text(0, y, "before now", Role::Dim);
    let (_, until) = plan.bounds();
    let behind = model.snapshot.now.saturating_sub(until);
    let length = plan.column_length() * u32::from(plan.cells);
    inside.text(plan.left, y, &before(behind + length), Role::Dim);
    let middle = before(behind + length / 2);
    let half = (format::width(&middle) / 2).min(plan.cells / 2);
    inside.text(plan.left + plan.cells / 2 - half, y, &middle, Role::Dim);
    let end = before(behind);
    inside.text_right(plan.left + plan.cells, y, &end, Role::Dim);
}

/// Formats a time before the present: `−5 min 00 s`, `now`.
pub(super) fn before(time: Duration) -> String {
    match time.as_secs() {
        0 => "now".to_owned(),
        _ => format!("−{}", format::seconds(time)),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
