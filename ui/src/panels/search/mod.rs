//! The search: its progress, its results, and its scores as pictures.

mod changes;
mod facts;

use divisi_session::{SearchState, SearchView};

use super::body::{PanelBody, PanelNews};
use super::frame::headed;
use super::keys;
use crate::commands::{APPLY_BEST, CANCEL, PAUSE, SEARCH};
use crate::layout::Panel;
use crate::look::{Dots, Painter, Role};
use crate::model::Model;
use crate::text::format;
use changes::Heat;

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    least_width: |_| 36,
    height: |_, all| (7, all),
    scroll_end: |model, _, _| {
        let search = model.snapshot.search.as_ref();
        search.map_or(0, |s| s.progress.accepted.len().saturating_sub(1))
    },
    is_from_end: true,
    news,
    ..PanelBody::new(draw)
};

/// Returns the state of the search. A finished search whose best matrix runs has nothing to add.
fn news(model: &Model) -> PanelNews {
    let Some(search) = &model.snapshot.search else {
        return PanelNews::quiet("none");
    };
    let best = search.progress.best.as_ref();
    let is_running = best.is_some_and(|best| *best == model.snapshot.matrix);
    match &search.state {
        SearchState::Running => PanelNews::open("running"),
        SearchState::Paused => PanelNews::open("paused"),
        SearchState::Finished | SearchState::Cancelled if is_running => PanelNews::quiet("done"),
        SearchState::Finished | SearchState::Cancelled => PanelNews::open("done"),
        SearchState::Failed(_) => PanelNews::open("failed"),
    }
}

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let note = model
        .snapshot
        .search
        .as_ref()
        .map_or("", |s| s.algorithm.as_str());
    let mut inside = headed(painter, Panel::Search, note, model);
    let Some(search) = &model.snapshot.search else {
        inside.text(0, 0, "no search yet", Role::Dim);
        keys::draw(&mut inside, 0, 1, model, &[(&SEARCH, "starts one")]);
        return;
    };
    let heat = Heat::new(search, model);
    let y = facts::draw(&mut inside, search, heat.as_ref(), model);
    let hints = u16::from(inside.height() > y + 1);
    let height = inside.height().saturating_sub(y + hints);
    pictures(
        &mut inside.part(0, y, u16::MAX, height),
        search,
        heat,
        model,
    );
    if hints > 0 {
        let y = inside.height() - 1;
        hint(&mut inside, y, search, model);
    }
}

/// Draws the curve, the heat map and the accepted steps, as far as there is room.
fn pictures(area: &mut Painter<'_>, search: &SearchView, heat: Option<Heat>, model: &Model) {
    let (width, height) = (area.width(), area.height());
    let steps = u16::try_from(search.progress.accepted.len()).unwrap_or(u16::MAX);
    let steps = match height > 10 && steps > 0 {
        true => steps.saturating_add(1).min(height / 3),
        false => 0,
    };
    let above = height - steps;
    let used = match heat {
        Some(heat) if width >= 76 => {
            let left = width / 2 - 2;
            let mut right = area.part(left + 3, 0, width - left - 3, above);
            let rows = heat.draw(&mut right, model);
            plot(&mut area.part(0, 0, left, above.min(rows.max(10))), search);
            above.min(rows.max(10))
        }
        Some(heat) if above >= heat.rows() + 3 => {
            let rows = heat.draw(&mut area.part(0, 0, width, above), model);
            plot(&mut area.part(0, rows, width, above - rows), search);
            above
        }
        _ => {
            plot(&mut area.part(0, 0, width, above), search);
            above
        }
    };
    changes::draw_steps(&mut area.part(0, used, width, height - used), search, model);
}

/// Draws the best score so far, or the single scores for a search without a curve.
fn plot(area: &mut Painter<'_>, search: &SearchView) {
    match search.progress.curve.is_empty() {
        true => draw_columns(area, 0, area.height(), search),
        false => draw_curve(area, search),
    }
}

fn hint(inside: &mut Painter<'_>, y: u16, search: &SearchView, model: &Model) {
    let pause = match search.state {
        SearchState::Paused => "resume",
        _ => "pause",
    };
    let mut hints = Vec::new();
    if model.searching() {
        hints.extend([(&PAUSE, pause), (&CANCEL, "cancel")]);
    }
    if search.progress.best.is_some() {
        let narrow = inside.width() < 44;
        hints.push((&APPLY_BEST, if narrow { "apply" } else { "take the best" }));
    }
    if !model.searching() {
        let kept = search.cached;
        hints.push((
            &SEARCH,
            if kept {
                "measure again"
            } else {
                "search again"
            },
        ));
    }
    keys::draw(inside, 0, y, model, &hints);
}

/// The width of the axis's numbers.
const AXIS: u16 = 6;

/// Draws the curve, a staircase, over the whole area with its axes.
fn draw_curve(area: &mut Painter<'_>, search: &SearchView) {
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

/// Draws the model's bound of the score.
fn bound(area: &mut Painter<'_>, search: &SearchView, rows: u16, share: impl Fn(f64) -> f64) {
    let bound = search.progress.bound.map(share);
    let Some(share) = bound.filter(|s| (0.0..=1.0).contains(s) && rows > 2) else {
        return;
    };
    let y = ((1.0 - share) * f64::from(rows - 1)).round() as u16;
    let width = area.width().saturating_sub(AXIS);
    area.run(AXIS, y, width, "·", Role::Dim);
    area.text_right(area.width(), y, " bound", Role::Dim);
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

/// Returns the range from slightly below the start to the best score, or to the bound if it is
/// near.
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

/// Returns the score of the last point at or before this number of evaluations.
fn best_after(curve: &[(usize, f64)], evaluations: usize) -> Option<f64> {
    let after = curve.partition_point(|p| p.0 <= evaluations);
    curve.get(after.checked_sub(1)?).map(|p| p.1)
}

/// The width of the axis's numbers.
const SCALE: u16 = 7;

/// Draws a column per neighbour, from the lowest to the highest score, and a line for the best.
fn draw_columns(inside: &mut Painter<'_>, y: u16, height: u16, search: &SearchView) {
    let width = inside.width().saturating_sub(SCALE + 1);
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
        inside.run(SCALE, line, width, "─", Role::Good);
    }
    for (x, score) in bars.iter().enumerate() {
        let role = if *score >= best {
            Role::Good
        } else {
            Role::Accent
        };
        inside.column(SCALE + x as u16, bottom, height, share(*score), role);
    }
    inside.text_right(SCALE - 1, y, &format::short(top), Role::Dim);
    if height > 1 {
        inside.text_right(SCALE - 1, bottom, &format::short(floor), Role::Dim);
    }
}

/// Returns at most `most` values, the highest of those that share a column.
fn squeeze(scores: &[f64], most: usize) -> Vec<f64> {
    let each = scores.len().div_ceil(most.max(1)).max(1);
    let highest = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
    scores.chunks(each).map(highest).collect()
}
