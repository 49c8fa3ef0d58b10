//! What the search is for and how near it is, what the best changes, how it went.

use divisi::allocation::{Difference, Matrix};
use divisi::ensemble::BatchSize;
use divisi::session::SearchView;

use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// A word before, what is said, and how.
type Fact = (&'static str, String, Role);

/// Draws what there is room for under the numbers; returns the row after it.
pub(super) fn draw(
    inside: &mut Painter<'_>,
    mut y: u16,
    search: &SearchView,
    next: Option<String>,
    model: &Model,
) -> u16 {
    let wide = inside.width() >= 46;
    // The keys and a line of the chart stay.
    let room = inside.height().saturating_sub(y + 2);
    for (name, text, role) in facts(search, next, model, wide)
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

fn facts(search: &SearchView, next: Option<String>, model: &Model, wide: bool) -> Vec<Fact> {
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
    let facts = [shortfall, compared, next, change, goal, bound, history];
    facts.into_iter().flatten().collect()
}

/// Returns the comparison of the best matrix with the start, once the two were run in turn.
fn compared(search: &SearchView) -> Option<Fact> {
    let gain = search.progress.gain.as_ref()?;
    Some(match gain.is_better() {
        true => ("on the start ", gain.to_string(), Role::Good),
        false => ("start stays: ", gain.to_string(), Role::Warn),
    })
}

/// How far the best found can be from the best there is by the model, if that holds.
fn bound(search: &SearchView, wide: bool) -> Option<Fact> {
    let seen = &search.progress;
    let (bound, best) = (seen.bound?, seen.best_score?);
    let gap = 100.0 * (1.0 - best / bound);
    let margin = Some(100.0 * seen.best_doubt.margin()).filter(|m| m.is_finite());
    let bound = format::grouped(bound.max(0.0).round() as u64);
    if gap < -margin.unwrap_or(0.0) {
        let text = match wide {
            true => format!("above the model's {bound}: its profiles do not hold"),
            false => format!("above the model's {bound}"),
        };
        return Some(("", text, Role::Warn));
    }
    let gap = gap.max(0.0);
    let text = match wide {
        true => format!("at most {gap:.0} % from the model's best ({bound})"),
        false => format!("≤ {gap:.0} % from model's best"),
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
