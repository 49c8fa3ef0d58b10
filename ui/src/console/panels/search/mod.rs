//! The search: where it is, what it has found, and the scores it sees.

mod chart;
mod goal;

use std::time::Duration;

use divisi::session::{SearchState, SearchView};

use super::framed;
use crate::console::format;
use crate::console::model::{Model, Panel};
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    let note = model
        .snapshot
        .search
        .as_ref()
        .map_or("", |s| s.algorithm.as_str());
    let mut inside = framed(pen, Panel::Search, note, model);
    let Some(search) = &model.snapshot.search else {
        inside.text(1, 0, "no search yet", Role::Dim);
        inside.pieces(1, 1, &[("s", Role::Accent), (" starts one", Role::Dim)]);
        return;
    };
    let y = facts(&mut inside, search, model);
    let hints = u16::from(inside.height() > y + 1);
    let height = inside.height().saturating_sub(y + hints);
    chart::draw(&mut inside, y, height, search);
    if hints > 0 {
        let y = inside.height() - 1;
        keys(&mut inside, y, search, model);
    }
}

/// As many lines as there are facts and room, the weightier first.
fn facts(inside: &mut Pen<'_>, search: &SearchView, model: &Model) -> u16 {
    first_line(inside, search);
    progress(inside, 1, search);
    let y = best(inside, 2, search);
    goal::draw(inside, y, search, model)
}

fn first_line(inside: &mut Pen<'_>, search: &SearchView) {
    let end = inside.width().saturating_sub(1);
    let (state, role) = state(search);
    let x = inside.text(1, 0, &format::fit(&state, end.saturating_sub(1)), role);
    let time = match (&search.state, search.left) {
        (SearchState::Running, Some(left)) => format!("{} left", left_in_words(left)),
        _ => format!(
            "{} · {} scores",
            format::duration(search.elapsed),
            format::grouped(search.progress.evaluations as u64)
        ),
    };
    if x + 1 + format::width(&time) <= end {
        inside.text_right(end, 0, &time, Role::Dim);
    }
}

fn state(search: &SearchView) -> (String, Role) {
    let evaluator = &search.evaluator;
    match &search.state {
        SearchState::Running if is_profiling(search) => {
            ("● running · profiling members".to_owned(), Role::Good)
        }
        SearchState::Running => (format!("● running · {evaluator}"), Role::Good),
        SearchState::Paused => (format!("‖ paused · {evaluator}"), Role::Warn),
        SearchState::Finished => (format!("✓ finished · {evaluator}"), Role::Good),
        SearchState::Cancelled => ("✗ cancelled".to_owned(), Role::Warn),
        SearchState::Failed(why) => (format!("✗ failed: {why}"), Role::Bad),
    }
}

/// Before the model's first score, what it works with may have to be measured.
fn is_profiling(search: &SearchView) -> bool {
    let modelled = search.evaluator.starts_with("model");
    modelled && search.progress.measuring && search.progress.start_score.is_none()
}

/// Iterations and neighbours, of how many where that is known.
fn progress(inside: &mut Pen<'_>, y: u16, search: &SearchView) {
    let wide = inside.width() >= 50;
    let seen = &search.progress;
    let words = match (wide, search.max_iter > 0) {
        (true, true) => ["iteration ", "neighbour ", "coverage "],
        (true, false) => ["step ", "neighbour ", "coverage "],
        (false, true) => ["iter ", "", ""],
        (false, false) => ["step ", "", ""],
    };
    let iteration = format!("{:<6}", of(seen.iteration, search.max_iter));
    let neighbour = format!("{:<8}", of(seen.neighbour, seen.neighbours));
    let mut pieces = vec![(words[0], Role::Dim), (&iteration, Role::Text)];
    if seen.neighbours > 0 {
        pieces.extend([(words[1], Role::Dim), (&neighbour, Role::Text)]);
    }
    let coverage = format::percent(seen.coverage);
    if seen.coverage > 0.0 {
        let after = if wide { "" } else { " seen" };
        pieces.extend([(words[2], Role::Dim), (coverage.trim(), Role::Text)]);
        pieces.push((after, Role::Dim));
    }
    inside.pieces(1, y, &pieces);
}

/// `3/10`, or `3` of nobody knows how many.
fn of(at: usize, all: usize) -> String {
    match all {
        0 => at.to_string(),
        all => format!("{at}/{all}"),
    }
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

fn left_in_words(left: Duration) -> String {
    match left.as_secs() {
        s if s < 60 => format!("{s} s"),
        _ => format::duration(left),
    }
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
