//! News of tasks: the policy, its changes, and new or finished jobs.

use divisi_modelless::quantities::significant;
use divisi_session::{JobView, ScalingChange, ScalingView};

use crate::text::format;

/// Returns lines about the news in `now`.
pub(super) fn news(before: Option<&ScalingView>, now: &ScalingView) -> Vec<String> {
    let mut lines = Vec::new();
    if before.is_none_or(|before| before.policy != now.policy) {
        lines.push(format!("policy {} loads variants", now.policy));
    }
    if let Some(why) = &now.held
        && before.is_none_or(|before| before.held.as_ref() != Some(why))
    {
        lines.push(format!("policy {} is paused: {why}", now.policy));
    }
    lines.extend(not_served(before, now));
    lines.extend(new_changes(before, now).map(change));
    lines.extend(compared(before, now));
    lines.extend(now.jobs.iter().filter_map(|now| job(before, now)));
    lines
}

/// Returns a line for each ensemble that is not served, once.
fn not_served(before: Option<&ScalingView>, now: &ScalingView) -> Vec<String> {
    let all = |view: &ScalingView| -> Vec<String> {
        let tasks = view.tasks.iter();
        tasks.flat_map(|task| task.not_served.clone()).collect()
    };
    let known = before.map(all).unwrap_or_default();
    let new = all(now).into_iter().filter(|why| !known.contains(why));
    new.map(|why| format!("not served: {why}")).collect()
}

/// Returns the new changes of loaded variants. Changes of shares only are left out: under a
/// changing load there is one each second.
fn new_changes<'a>(
    before: Option<&ScalingView>,
    now: &'a ScalingView,
) -> impl Iterator<Item = &'a ScalingChange> {
    let loads = |change: &&ScalingChange| !change.shares_alone;
    let last = before.and_then(|before| before.changes.iter().rev().find(loads));
    let known = last.and_then(|last| now.changes.iter().rposition(|change| change == last));
    now.changes[known.map_or(0, |at| at + 1)..]
        .iter()
        .filter(loads)
}

fn change(change: &ScalingChange) -> String {
    let ScalingChange { policy, what, .. } = change;
    match &change.outcome {
        Ok(took) => format!("policy {policy}, in {:.3} s: {what}", took.as_secs_f64()),
        Err(why) => format!("policy {policy} failed: {what}: {why}"),
    }
}

/// Returns a line for each policy after a comparison.
fn compared(before: Option<&ScalingView>, now: &ScalingView) -> Vec<String> {
    let known = before.and_then(|before| before.comparison.as_ref());
    let Some(new) = now.comparison.as_ref().filter(|new| known != Some(*new)) else {
        return Vec::new();
    };
    let (queries, over) = (format::grouped(new.queries), format::seconds(new.over));
    let each = new.outcomes.iter().map(|outcome| {
        format!(
            "simulated, {queries} queries of {over}: {} misses {} goals, cost per million {}, accuracy {:.2} %",
            outcome.policy,
            format::missed(outcome.missed),
            significant(outcome.cost),
            100.0 * outcome.accuracy
        )
    });
    let counted = new.counted.queries.share_missed().map(|missed| {
        let policy = &new.counted.policy;
        format!(
            "counted in the same period under {policy}: {} missed",
            format::missed(missed)
        )
    });
    let counted = counted.filter(|_| !new.outcomes.is_empty());
    each.chain(counted).collect()
}

/// Returns a line about a job that is new or whose rows are no longer written.
fn job(before: Option<&ScalingView>, now: &JobView) -> Option<String> {
    let known = before.and_then(|before| before.jobs.iter().find(|job| job.number == now.number));
    let is_new = known.is_none_or(|known| known.is_over != now.is_over);
    let JobView {
        number,
        task,
        rows,
        written,
        state,
        ..
    } = now;
    is_new.then(|| format!("job {number} of {task}: {written} of {rows} rows, {state}"))
}
