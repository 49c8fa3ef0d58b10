//! The search: where it is, what it has found, and the scores it sees.

mod goal;
mod heat;
mod plots;
mod steps;

use divisi::session::{SearchState, SearchView};

use heat::Heat;

use super::frame::headed;
use super::keys;
use crate::commands::{APPLY_BEST, CANCEL, PAUSE, SEARCH};
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// Draws the panel.
pub(super) fn draw(pen: &mut Painter<'_>, model: &Model) {
    let note = model
        .snapshot
        .search
        .as_ref()
        .map_or("", |s| s.algorithm.as_str());
    let mut inside = headed(pen, Panel::Search, note, model);
    let Some(search) = &model.snapshot.search else {
        inside.text(0, 0, "no search yet", Role::Dim);
        keys::draw(&mut inside, 0, 1, model, &[(&SEARCH, "starts one")]);
        return;
    };
    let heat = Heat::new(search, model);
    let y = facts(&mut inside, search, heat.as_ref(), model);
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

/// The curve, the heat map and the steps taken, as far as there is room.
fn pictures(area: &mut Painter<'_>, search: &SearchView, heat: Option<Heat>, model: &Model) {
    let (width, height) = (area.width(), area.height());
    let steps = u16::try_from(search.progress.accepted.len()).unwrap_or(u16::MAX);
    let steps = match height > 11 && steps > 0 {
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
    steps::draw(&mut area.part(0, used, width, height - used), search, model);
}

/// The best so far; a search that keeps no curve shows the scores it sees.
fn plot(area: &mut Painter<'_>, search: &SearchView) {
    match search.progress.curve.is_empty() {
        true => plots::columns(area, 0, area.height(), search),
        false => plots::curve(area, search),
    }
}

/// As many lines as there are facts and room, the weightier first.
fn facts(inside: &mut Painter<'_>, search: &SearchView, heat: Option<&Heat>, model: &Model) -> u16 {
    first_line(inside, search);
    progress(inside, 1, search);
    let y = best(inside, 2, search);
    goal::draw(inside, y, search, heat.and_then(|h| h.best(model)), model)
}

fn first_line(inside: &mut Painter<'_>, search: &SearchView) {
    let end = inside.width();
    let (state, role) = state(search);
    let x = inside.text(0, 0, &format::fit(&state, end), role);
    let time = match (&search.state, search.left) {
        (SearchState::Running, Some(left)) => format!("{} left", format::seconds(left)),
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
fn progress(inside: &mut Painter<'_>, y: u16, search: &SearchView) {
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
    inside.pieces(0, y, &pieces);
}

/// `3/10`, or `3` of nobody knows how many.
fn of(at: usize, all: usize) -> String {
    match all {
        0 => at.to_string(),
        all => format!("{at}/{all}"),
    }
}

/// The best and how sure it is, the start, and the gain: as much as there is room for.
fn best(inside: &mut Painter<'_>, y: u16, search: &SearchView) -> u16 {
    let seen = &search.progress;
    let score = |s: Option<f64>| {
        s.map_or("–".to_owned(), |s| {
            format::grouped(s.max(0.0).round() as u64)
        })
    };
    let gain = seen.start_score.zip(seen.best_score);
    let gain = gain
        .and_then(|(start, best)| format::gain(start, best))
        .unwrap_or_default();
    let doubt = seen.best_score.map(|_| seen.best_doubt.to_string());
    let doubt = doubt.unwrap_or_default();
    let (best, start) = (score(seen.best_score), score(seen.start_score));
    let number = [("best ", Role::Dim), (best.as_str(), Role::Strong)];
    let gained = [("  ", Role::Dim), (gain.as_str(), Role::Good)];
    let doubted = |before| [(before, Role::Dim), (doubt.as_str(), Role::Dim)];
    let from = |words| [(words, Role::Dim), (start.as_str(), Role::Text)];
    let forms = [
        [number, from(" samples/s   start "), gained, doubted("  ")].concat(),
        [number, from(" from "), gained, doubted("  ")].concat(),
        [number, doubted(" "), gained].concat(),
    ];
    let width = |form: &&Vec<(&str, Role)>| form.iter().map(|(t, _)| format::width(t)).sum::<u16>();
    let fits = forms.iter().find(|form| width(form) <= inside.width());
    inside.pieces(0, y, fits.unwrap_or(&forms[2]));
    y + 1
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
        hints.push((&SEARCH, "search again"));
    }
    keys::draw(inside, 0, y, model, &hints);
}
