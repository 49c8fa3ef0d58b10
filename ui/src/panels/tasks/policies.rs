//! The current policy, and the results of the others.

use divisi_modelless::quantities::significant;
use divisi_session::{CountedOutcome, PolicyComparison, PolicyOutcome, ScalingView};

use super::{TaskLine, heading, row, wrapped};
use crate::commands::{COMPARE_POLICIES, SCALING};
use crate::look::Role;
use crate::model::Model;
use crate::panels::keys;
use crate::text::format;

/// Returns the line of the policies, with the reason if none is active.
pub(super) fn head(model: &Model, scaling: &ScalingView, width: u16) -> Vec<TaskLine> {
    let mut line = vec![("policy ".to_owned(), Role::Dim)];
    for name in &scaling.policies {
        let role = match *name == scaling.policy {
            true => Role::Accent,
            false => Role::Dim,
        };
        line.push((format!("{name} "), role));
    }
    let mut lines = vec![line];
    let (next, compare) = (
        keys::label(model, &SCALING),
        keys::label(model, &COMPARE_POLICIES),
    );
    let text = format!("{next} next policy   {compare} compare all over the last minutes");
    lines.push(row(&text, Role::Dim, width));
    if let Some(held) = &scaling.held {
        lines.extend(wrapped(Vec::new(), held, Role::Warn, width));
    }
    lines
}

/// Returns the result of each policy in virtual time.
pub(super) fn comparison(scaling: &ScalingView, width: u16) -> Vec<TaskLine> {
    let Some(comparison) = &scaling.comparison else {
        return Vec::new();
    };
    let title = format!(
        "simulated: {} queries of the {} before {:.1} s, under every policy",
        format::grouped(comparison.queries),
        format::duration(comparison.over),
        comparison.at.as_secs_f64()
    );
    let mut lines: Vec<TaskLine> = heading(&title).into();
    if comparison.outcomes.is_empty() {
        lines.push(row("  simulating …", Role::Dim, width));
        return lines;
    }
    let heads = "  policy        missed  cost/M      accuracy  changes";
    lines.push(row(heads, Role::Dim, width));
    lines.extend(counted(comparison, width));
    lines.extend(comparison.outcomes.iter().map(|outcome| {
        let role = match outcome.policy == scaling.policy {
            true => Role::Accent,
            false => Role::Text,
        };
        row(&words(outcome), role, width)
    }));
    lines.extend(error(comparison, width));
    lines
}

/// Returns the line of the queries counted in the same period, if any were counted.
fn counted(comparison: &PolicyComparison, width: u16) -> Option<TaskLine> {
    let CountedOutcome {
        policy, queries, ..
    } = &comparison.counted;
    let missed = format::missed(queries.share_missed()?);
    let all = format::grouped(queries.all());
    let text = format!(
        "  {:<12} {missed:>7}  {all} queries under {policy}",
        "counted"
    );
    Some(row(&text, Role::Strong, width))
}

/// Returns the error of the simulation, with a warning if it exceeds the differences between the
/// policies.
fn error(comparison: &PolicyComparison, width: u16) -> Vec<TaskLine> {
    let Some(error) = comparison.error() else {
        return Vec::new();
    };
    let points = format::points(error);
    let text = format!(
        "simulated less counted, for {}: {} points",
        comparison.counted.policy,
        points.trim()
    );
    let (note, role) = match (comparison.counted.whole, comparison.is_reliable()) {
        (false, _) => ("; it ran during a part of the period only", Role::Dim),
        (true, Some(false)) => (
            "; this error exceeds the differences between the policies, so their order means nothing",
            Role::Warn,
        ),
        (true, _) => ("", Role::Dim),
    };
    wrapped(
        vec![("  ".to_owned(), role)],
        &format!("{text}{note}"),
        role,
        width,
    )
}

fn words(outcome: &PolicyOutcome) -> String {
    format!(
        "  {:<12} {:>7}  {:<10}  {:>6.2} %  {:>7}",
        outcome.policy,
        format::missed(outcome.missed),
        significant(outcome.cost),
        100.0 * outcome.accuracy,
        outcome.changes
    )
}
