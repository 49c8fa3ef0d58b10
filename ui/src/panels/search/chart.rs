//! The scores that the search has seen lately, and the best.

use divisi::session::SearchView;

use crate::look::{Painter, Role};
use crate::text::format;

/// Columns for the numbers of the axis.
const AXIS: u16 = 7;

/// A column a neighbour, from the least to the best score, and a line for the best.
pub fn draw(inside: &mut Painter<'_>, y: u16, height: u16, search: &SearchView) {
    let width = inside.width().saturating_sub(AXIS + 1);
    if height == 0 || width == 0 || search.progress.scores.is_empty() {
        return;
    }
    let best = search.progress.best_score.unwrap_or(0.0);
    let bars = squeeze(&search.progress.scores, usize::from(width));
    let top = bars.iter().copied().fold(best, f64::max);
    let least = bars.iter().copied().fold(top, f64::min);
    let floor = (least - (top - least) * 0.25).max(0.0);
    let share = |score: f64| (score - floor) / (top - floor).max(f64::EPSILON);
    let bottom = y + height - 1;
    let line = bottom.saturating_sub((share(best) * f64::from(height - 1)).round() as u16);
    if height > 1 {
        inside.run(AXIS, line, width, "─", Role::Good);
    }
    for (x, score) in bars.iter().enumerate() {
        let role = if *score >= best {
            Role::Good
        } else {
            Role::Accent
        };
        inside.column(AXIS + x as u16, bottom, height, share(*score), role);
    }
    inside.text_right(AXIS - 1, y, &format::short(top), Role::Dim);
    if height > 1 {
        inside.text_right(AXIS - 1, bottom, &format::short(floor), Role::Dim);
    }
}

/// At most `most` values; of those that share a column the highest stays.
fn squeeze(scores: &[f64], most: usize) -> Vec<f64> {
    let each = scores.len().div_ceil(most.max(1)).max(1);
    let highest = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
    scores.chunks(each).map(highest).collect()
}
