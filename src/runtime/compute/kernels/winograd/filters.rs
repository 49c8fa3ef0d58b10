//! The weights of a Winograd convolution: every filter transformed, a matrix for each point.

use super::super::panels::Filters;
use super::super::panels::Panels;
use super::axis::{MAX_POINTS, TileAxis};

/// The most taps of a filter's side.
const MAX_TAPS: usize = 7;

/// Columns that are transformed together, one after the other in memory.
const COLUMNS: usize = 16;

type FilterColumns = [f32; COLUMNS];

/// Fills `packed` with the panels of each point of `rows × columns`.
pub(super) fn pack(filters: Filters<'_>, sides: [TileAxis; 2], panels: Panels, packed: &mut [f32]) {
    let transform = sides.map(TileAxis::filter);
    for panel in (0..panels.count()).map(|i| panels.panel(i)) {
        let width = panel.vectors * panels.shape.lanes;
        for input in 0..panels.depth {
            for first in (0..width).step_by(COLUMNS) {
                let column = panel.column + first;
                let count = panels.columns.saturating_sub(column).min(COLUMNS);
                let taps = gather(filters, column, count, input);
                let line = panel.at + input * width + first;
                let wide = COLUMNS.min(width - first);
                spread(&taps, &transform, |point, values| {
                    let at = point * panels.floats() + line;
                    packed[at..at + wide].copy_from_slice(&values[..wide]);
                });
            }
        }
    }
}

/// Returns the taps of `count` filters from `column` on, for one input channel.
fn gather(
    filters: Filters<'_>,
    column: usize,
    count: usize,
    input: usize,
) -> [FilterColumns; MAX_TAPS * MAX_TAPS] {
    let mut taps = [[0.0; COLUMNS]; MAX_TAPS * MAX_TAPS];
    for c in 0..count {
        let factor = filters.factor(column + c);
        for (tap, &weight) in taps.iter_mut().zip(filters.kernel(column + c, input)) {
            tap[c] = factor * weight;
        }
    }
    taps
}

/// Transforms lines, then columns, and calls `give` with each point and its values.
fn spread(
    taps: &[FilterColumns],
    [rows, columns]: &[Vec<Vec<f64>>; 2],
    mut give: impl FnMut(usize, &FilterColumns),
) {
    let mut lines = [[[0.0; COLUMNS]; MAX_TAPS]; MAX_POINTS];
    let width = columns[0].len();
    for (line, factors) in lines.iter_mut().zip(rows) {
        for (x, value) in line[..width].iter_mut().enumerate() {
            *value = weighted(factors, |y| &taps[y * width + x]);
        }
    }
    for (y, line) in lines[..rows.len()].iter().enumerate() {
        for (x, factors) in columns.iter().enumerate() {
            give(y * columns.len() + x, &weighted(factors, |i| &line[i]));
        }
    }
}

#[inline(always)]
fn weighted<'a>(factors: &[f64], value: impl Fn(usize) -> &'a FilterColumns) -> FilterColumns {
    let mut sum = [0.0; COLUMNS];
    for (i, &factor) in factors.iter().enumerate() {
        for (s, v) in sum.iter_mut().zip(value(i)) {
            *s += factor as f32 * v;
        }
    }
    sum
}
