//! Samples answered a second, over the last moments.

use super::framed;
use crate::console::format;
use crate::console::model::{Model, Panel};
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// Columns for the numbers of the axis.
const AXIS: u16 = 6;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    let mut inside = framed(pen, Panel::Throughput, "answered, samples/s", model);
    let shown = &model.snapshot.throughput;
    let now = format::grouped(shown.samples_per_s.max(0.0).round() as u64);
    let x = inside.pieces(
        1,
        0,
        &[
            (&format!("{now:>7}"), Role::Strong),
            (" samples/s", Role::Dim),
        ],
    );
    let requests = format!(
        "{} requests/s",
        format::grouped(shown.requests_per_s.max(0.0).round() as u64)
    );
    let end = inside.width().saturating_sub(1);
    if x + 2 + format::width(&requests) <= end {
        inside.text_right(end, 0, &requests, Role::Dim);
    }
    let height = inside.height().saturating_sub(2);
    if height > 0 {
        chart(&mut inside, 1, height, model);
    }
}

fn chart(inside: &mut Pen<'_>, y: u16, height: u16, model: &Model) {
    let shown = &model.snapshot.throughput;
    let width = inside.width().saturating_sub(AXIS + 1);
    let (each, count) = columns(shown.series.len(), usize::from(width));
    let series = &shown.series[shown.series.len() - count..];
    let top = nice(series.iter().copied().fold(0.0, f64::max));
    let bottom = y + height - 1;
    inside.text_right(AXIS - 1, y, &format::short(top), Role::Dim);
    inside.text_right(AXIS - 1, bottom, "0", Role::Dim);
    let start = AXIS + width - (each * count) as u16;
    for (i, value) in series.iter().enumerate() {
        for part in 0..each {
            let x = start + (i * each + part) as u16;
            inside.column(x, bottom, height, value / top, Role::Accent);
        }
    }
    let length = shown.moment * u32::try_from(count).unwrap_or(u32::MAX);
    inside.text(
        start,
        bottom + 1,
        &format!("−{}", format::duration(length)),
        Role::Dim,
    );
    inside.text_right(AXIS + width, bottom + 1, "now", Role::Dim);
}

/// Columns for each moment, and how many moments fit.
fn columns(moments: usize, width: usize) -> (usize, usize) {
    if moments == 0 || width == 0 {
        return (1, 0);
    }
    let each = (width / moments).clamp(1, 4);
    (each, moments.min(width / each))
}

/// The next of 1, 2, 5, 10, …, so that the axis does not change with every value.
fn nice(value: f64) -> f64 {
    if value <= 1.0 || !value.is_finite() {
        return 1.0;
    }
    let decade = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0];
    let fitting = steps
        .iter()
        .map(|s| s * decade)
        .find(|s| *s >= value * 0.9999);
    fitting.unwrap_or(decade * 10.0)
}
