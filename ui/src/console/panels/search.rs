//! The search: where it is, what it has found, and the scores it sees.

use std::time::Duration;

use divisi::allocation::{Difference, Matrix};
use divisi::ensemble::BatchSize;
use divisi::session::{SearchState, SearchView};

use super::framed;
use crate::console::format;
use crate::console::model::{Model, Panel};
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// Columns for the numbers of the axis.
const AXIS: u16 = 7;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    let note = model.snapshot.search.as_ref().map_or("", |s| s.algorithm);
    let mut inside = framed(pen, Panel::Search, note, model);
    let Some(search) = &model.snapshot.search else {
        inside.text(1, 0, "no search yet", Role::Dim);
        inside.pieces(1, 1, &[("s", Role::Accent), (" starts one", Role::Dim)]);
        return;
    };
    let y = facts(&mut inside, search, model);
    let hints = u16::from(inside.height() > y + 1);
    let height = inside.height().saturating_sub(y + hints);
    scores(&mut inside, y, height, search);
    if hints > 0 {
        let y = inside.height() - 1;
        keys(&mut inside, y, search, model);
    }
}

fn facts(inside: &mut Pen<'_>, search: &SearchView, model: &Model) -> u16 {
    let (state, role) = state(search);
    let x = inside.text(1, 0, &state, role);
    let time = match (&search.state, search.left) {
        (SearchState::Running, Some(left)) => format!("{} left", left_in_words(left)),
        _ => format!(
            "{} · {} scores",
            format::duration(search.elapsed),
            search.progress.evaluations
        ),
    };
    let end = inside.width().saturating_sub(1);
    if x + 1 + format::width(&time) <= end {
        inside.text_right(end, 0, &time, Role::Dim);
    }
    progress(inside, 1, search);
    let y = best(inside, 2, search);
    more(inside, y, search, model)
}

fn state(search: &SearchView) -> (String, Role) {
    match &search.state {
        SearchState::Running => (format!("● running · {}", search.evaluator), Role::Good),
        SearchState::Paused => (format!("‖ paused · {}", search.evaluator), Role::Warn),
        SearchState::Finished => (format!("✓ finished · {}", search.evaluator), Role::Good),
        SearchState::Cancelled => ("✗ cancelled".to_owned(), Role::Warn),
        SearchState::Failed(why) => (format!("✗ failed: {why}"), Role::Bad),
    }
}

fn progress(inside: &mut Pen<'_>, y: u16, search: &SearchView) {
    let wide = inside.width() >= 50;
    let words = if wide {
        ["iteration ", "neighbour ", "coverage "]
    } else {
        ["iter ", "", ""]
    };
    let iteration = format!("{}/{}", search.progress.iteration, search.max_iter);
    let neighbour = format!(
        "{}/{}",
        search.progress.neighbour, search.progress.neighbours
    );
    let coverage = format::percent(search.progress.coverage);
    let after = if wide { "" } else { " seen" };
    inside.pieces(
        1,
        y,
        &[
            (words[0], Role::Dim),
            (&format!("{iteration:<6}"), Role::Text),
            (words[1], Role::Dim),
            (&format!("{neighbour:<8}"), Role::Text),
            (words[2], Role::Dim),
            (coverage.trim(), Role::Text),
            (after, Role::Dim),
        ],
    );
}

fn best(inside: &mut Pen<'_>, y: u16, search: &SearchView) -> u16 {
    let score = |s: Option<f64>| {
        s.map_or("–".to_owned(), |s| {
            format::grouped(s.max(0.0).round() as u64)
        })
    };
    let gain = search.progress.start_score.zip(search.progress.best_score);
    let gain = gain
        .and_then(|(start, best)| format::gain(start, best))
        .unwrap_or_default();
    let best = score(search.progress.best_score);
    let start = score(search.progress.start_score);
    let wide = inside.width() >= 44;
    let unit = if wide {
        " samples/s   start "
    } else {
        " from "
    };
    let x = inside.pieces(
        1,
        y,
        &[
            ("best ", Role::Dim),
            (&best, Role::Strong),
            (unit, Role::Dim),
            (&start, Role::Text),
        ],
    );
    inside.text(x + 2, y, &gain, Role::Good);
    y + 1
}

/// Where there is room: what the best changes, and how it went so far.
fn more(inside: &mut Pen<'_>, mut y: u16, search: &SearchView, model: &Model) -> u16 {
    let room = inside.width().saturating_sub(6);
    if inside.height() < 8 {
        return y;
    }
    if let Some(change) = change(search, model) {
        let x = inside.text(1, y, "now → best ", Role::Dim);
        inside.text(
            x,
            y,
            &format::fit(&change, room.saturating_sub(8)),
            Role::Text,
        );
        y += 1;
    }
    if inside.height() >= 10 && !search.progress.history.is_empty() {
        let scores: Vec<String> = search
            .progress
            .history
            .iter()
            .rev()
            .take(6)
            .rev()
            .map(|s| format::short(*s))
            .collect();
        let x = inside.text(1, y, "by iteration ", Role::Dim);
        inside.text(
            x,
            y,
            &format::fit(&scores.join(" → "), room.saturating_sub(10)),
            Role::Text,
        );
        y += 1;
    }
    y
}

fn change(search: &SearchView, model: &Model) -> Option<String> {
    let (now, best) = (&model.snapshot.matrix, search.progress.best.as_ref()?);
    let difference = Difference::between(now, best);
    let mut changed = difference.changed();
    let cell = changed.next()?.cell;
    let size = |m: &Matrix| m.get(cell).map_or(0, BatchSize::get);
    let frame = now.frame();
    let (device, member) = (
        frame.devices.get(cell.device)?,
        frame.members.get(cell.member)?,
    );
    let others = match changed.count() {
        0 => String::new(),
        n => format!(", {n} more"),
    };
    Some(format!(
        "{device} × {member} {} → {}{others}",
        size(now),
        size(best)
    ))
}

fn left_in_words(left: Duration) -> String {
    match left.as_secs() {
        s if s < 60 => format!("{s} s"),
        _ => format::duration(left),
    }
}

/// A column a neighbour, from the least to the best score, and a line for the best.
fn scores(inside: &mut Pen<'_>, y: u16, height: u16, search: &SearchView) {
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
        inside.text(AXIS, line, &"─".repeat(usize::from(width)), Role::Good);
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

fn keys(inside: &mut Pen<'_>, y: u16, search: &SearchView, model: &Model) {
    let gap = if inside.width() < 40 { " " } else { "   " };
    let mut x = 1;
    if model.searching() {
        let word = if search.state == SearchState::Paused {
            " resume"
        } else {
            " pause"
        };
        let role = if model.focus == Panel::Search {
            Role::Accent
        } else {
            Role::Dim
        };
        x = inside.pieces(
            x,
            y,
            &[("space", role), (word, Role::Dim), (gap, Role::Dim)],
        );
        x = inside.pieces(
            x,
            y,
            &[
                ("x", Role::Accent),
                (" cancel", Role::Dim),
                (gap, Role::Dim),
            ],
        );
    }
    if search.progress.best.is_some() {
        inside.pieces(x, y, &[("b", Role::Accent), (" apply", Role::Dim)]);
    }
}
