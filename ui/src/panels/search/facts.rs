//! The search in numbers and words: its progress and best score, its goal and shortfall, the best
//! change, and its history.

use divisi_engine::search::{Doubt, EvaluatorKind};
use divisi_model::allocation::{Difference, Matrix};
use divisi_model::ensemble::BatchSize;
use divisi_session::{SearchState, SearchView};

use super::changes::Heat;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// Draws as many facts as there is room for, the most important first.
pub(super) fn draw(
    inside: &mut Painter<'_>,
    search: &SearchView,
    heat: Option<&Heat>,
    model: &Model,
) -> u16 {
    first_line(inside, search);
    progress(inside, 1, search);
    let y = best(inside, 2, search);
    draw_goal(inside, y, search, heat.and_then(|h| h.best(model)), model)
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
        SearchState::Finished => (format!("✓ finished · {}", origin(search)), Role::Good),
        SearchState::Cancelled => ("✗ cancelled".to_owned(), Role::Warn),
        SearchState::Failed(why) => (format!("✗ failed: {why}"), Role::Bad),
    }
}

/// Returns the evaluator, and the age of a kept result or the load of the host.
fn origin(search: &SearchView) -> String {
    match &search.occasion {
        Some(occasion) => format!("{}, {occasion}", search.evaluator),
        None => search.evaluator.clone(),
    }
}

/// Returns whether profiles are measured before the model's first score.
fn is_profiling(search: &SearchView) -> bool {
    let modelled = search.scored_by == EvaluatorKind::Model;
    modelled && search.progress.measuring && search.progress.start_score.is_none()
}

/// Draws iterations and neighbours, with their totals if known.
fn progress(inside: &mut Painter<'_>, y: u16, search: &SearchView) {
    let wide = inside.width() >= 50;
    let seen = &search.progress;
    let words = match (wide, search.max_iter > 0) {
        (true, true) => ["iteration ", "neighbour ", "coverage "],
        (true, false) => ["step ", "neighbour ", "coverage "],
        (false, true) => ["iter ", "", ""],
        (false, false) => ["step ", "", ""],
    };
    let iteration = format!("{:<6}", progress_text(seen.iteration, search.max_iter));
    let neighbour = format!("{:<8}", progress_text(seen.neighbour, seen.neighbours));
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

/// Formats `3/10`, or `3` without a total.
fn progress_text(at: usize, all: usize) -> String {
    match all {
        0 => at.to_string(),
        all => format!("{at}/{all}"),
    }
}

/// Draws the best score with its certainty, the start and the gain, as far as there is room.
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

/// A label, a text and its role.
type Fact = (&'static str, String, Role);

/// Draws the facts that fit under the numbers, and returns the row after them.
fn draw_goal(
    inside: &mut Painter<'_>,
    mut y: u16,
    search: &SearchView,
    next: Option<String>,
    model: &Model,
) -> u16 {
    let wide = inside.width() >= 46;
    // The keys and a line of the chart keep their place.
    let room = inside.height().saturating_sub(y + 2);
    for (name, text, role) in goal_facts(search, next, model, wide)
        .into_iter()
        .take(usize::from(room))
    {
        let x = inside.text(0, y, name, Role::Dim);
        let room = inside.width().saturating_sub(x);
        inside.text(x, y, &format::fit(&text, room), role);
        y += 1;
    }
    y
}

fn goal_facts(search: &SearchView, next: Option<String>, model: &Model, wide: bool) -> Vec<Fact> {
    let shortfall = search
        .shortfall
        .clone()
        .map(|s| ("✗ not met: ", s, Role::Bad));
    let compared = compared(search);
    let goal = search.goal.clone().map(|g| ("goal ", g, Role::Text));
    let bound = bound(search, wide);
    let change =
        change(search, model).map(|c| (if wide { "now → best " } else { "best " }, c, Role::Text));
    let history = history(search).map(|h| ("by iteration ", h, Role::Text));
    let next = next.map(|n| (if wide { "next " } else { "" }, n, Role::Good));
    let predicted = predicted(search);
    let facts = [
        shortfall, compared, next, change, goal, predicted, bound, history,
    ];
    facts.into_iter().flatten().collect()
}

/// Returns the comparison of the best matrix with the start, once both ran alternately.
fn compared(search: &SearchView) -> Option<Fact> {
    let gain = search.progress.gain.as_ref()?;
    Some(match gain.is_better() {
        true => ("over the start ", gain.to_string(), Role::Good),
        false => ("start kept: ", gain.to_string(), Role::Warn),
    })
}

/// Returns the prediction of the result before it was measured, and its error.
fn predicted(search: &SearchView) -> Option<Fact> {
    let predicted = search.progress.predicted?;
    let measured = search.progress.best_score?;
    let number = |rate: f64| format::grouped(rate.max(0.0).round() as u64);
    let (rate, low, high) = (predicted.samples_per_s, predicted.low, predicted.high);
    let error = match search.progress.best_doubt {
        Doubt::Predicted { .. } => String::new(),
        _ => format!(
            ", error {:+.0} %",
            100.0 * (rate / measured.max(1e-9) - 1.0)
        ),
    };
    let range = format!("{} … {}", number(low), number(high));
    let text = format!("{} ({range}){error}", number(rate));
    Some(("predicted ", text, Role::Text))
}

/// Returns the distance of the best matrix from the model's bound, if the bound holds.
fn bound(search: &SearchView, wide: bool) -> Option<Fact> {
    let seen = &search.progress;
    let (bound, best) = (seen.bound?, seen.best_score?);
    let gap = 100.0 * (1.0 - best / bound);
    let margin = Some(100.0 * seen.best_doubt.margin()).filter(|m| m.is_finite());
    let bound = format::grouped(bound.max(0.0).round() as u64);
    if gap < -margin.unwrap_or(0.0) {
        let text = match wide {
            true => format!("above the model's bound of {bound}: profiles do not hold"),
            false => format!("above the model's {bound}"),
        };
        return Some(("", text, Role::Warn));
    }
    let gap = gap.max(0.0);
    let text = match wide {
        true => format!("at most {gap:.0} % below the model's bound ({bound})"),
        false => format!("≤ {gap:.0} % below the bound"),
    };
    Some(("", text, Role::Text))
}

fn history(search: &SearchView) -> Option<String> {
    let history = &search.progress.history;
    let last = &history[history.len().saturating_sub(6)..];
    let scores: Vec<String> = last.iter().map(|s| format::short(*s)).collect();
    (!scores.is_empty()).then(|| scores.join(" → "))
}

fn change(search: &SearchView, model: &Model) -> Option<String> {
    let (now, best) = (&model.snapshot.matrix, search.progress.best.as_ref()?);
    let difference = Difference::between(now, best);
    let mut changed = difference.changed();
    let cell = changed.next()?.cell;
    let size = |m: &Matrix| m.get(cell).map_or(0, BatchSize::get);
    let frame = now.frame();
    let (device, member) = (frame.device(cell.device)?, frame.member(cell.member)?);
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
