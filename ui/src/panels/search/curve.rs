//! The best score so far against evaluations.

use divisi::session::SearchView;

use crate::look::Dots;
use crate::look::{Painter, Role};
use crate::text::format;

/// Columns for the numbers of the axis.
const AXIS: u16 = 6;

/// Draws it over the whole area, with its axes; it is a staircase.
pub fn draw(area: &mut Painter<'_>, search: &SearchView) {
    let curve = &search.progress.curve;
    let (width, height) = (area.width().saturating_sub(AXIS), area.height());
    if curve.is_empty() || width < 4 || height < 2 {
        return;
    }
    let rows = height - 1;
    let most = search.progress.evaluations.max(1);
    let (floor, top) = bounds(search);
    let share = |score: f64| (score - floor) / (top - floor).max(f64::EPSILON);
    let mut dots = Dots::new(width, rows);
    let columns = dots.columns();
    let last = f64::from(columns.saturating_sub(1).max(1));
    let at = |x: u16| (f64::from(x) / last * most as f64) as usize;
    dots.curve((0..columns).map(|x| best_after(curve, at(x)).map(share)));
    bound(area, search, rows, share);
    dots.draw(area, AXIS, 0, Role::Accent);
    area.text_right(AXIS - 1, 0, &format::short(top), Role::Dim);
    area.text_right(AXIS - 1, rows - 1, &format::short(floor), Role::Dim);
    axis(area, rows, most);
}

/// What no matrix exceeds, by the model.
fn bound(area: &mut Painter<'_>, search: &SearchView, rows: u16, share: impl Fn(f64) -> f64) {
    let bound = search.progress.bound.map(share);
    let Some(share) = bound.filter(|s| (0.0..=1.0).contains(s) && rows > 2) else {
        return;
    };
    let y = ((1.0 - share) * f64::from(rows - 1)).round() as u16;
    let width = area.width().saturating_sub(AXIS);
    area.run(AXIS, y, width, "·", Role::Dim);
    area.text_right(area.width(), y, " at most", Role::Dim);
}

fn axis(area: &mut Painter<'_>, y: u16, most: usize) {
    area.text(AXIS, y, "0", Role::Dim);
    let last = format!("{} evaluations", format::grouped(most as u64));
    let last = match AXIS + 2 + format::width(&last) <= area.width() {
        true => last,
        false => format::grouped(most as u64),
    };
    area.text_right(area.width(), y, &last, Role::Dim);
}

/// From a little under the start to the best, or to the bound where that is near.
fn bounds(search: &SearchView) -> (f64, f64) {
    let curve = search.progress.curve.iter().map(|p| p.1);
    let start = search.progress.start_score;
    let low = curve.clone().chain(start).fold(f64::INFINITY, f64::min);
    let high = curve.fold(0.0, f64::max);
    let near = search.progress.bound.filter(|b| *b < high * 1.5);
    let high = near.unwrap_or(high).max(high);
    let margin = ((high - low) * 0.1).max(high * 0.01);
    ((low - margin).max(0.0), high + margin / 2.0)
}

/// The score of the last point at or before so many evaluations.
fn best_after(curve: &[(usize, f64)], evaluations: usize) -> Option<f64> {
    let after = curve.partition_point(|p| p.0 <= evaluations);
    curve.get(after.checked_sub(1)?).map(|p| p.1)
}
