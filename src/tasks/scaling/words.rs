//! Decisions, goals and changes in words.

use divisi_modelless::goals::{ChoicePreference, QueryGoals};
use divisi_modelless::placement::HostedInstances;
use divisi_modelless::policies::{ActionOutcome, ConsideredAction, ScalingAction};
use divisi_modelless::quantities::COST_QUERIES;
use divisi_modelless::states::VariantState;
use divisi_modelless::variants::VariantIndex;
use divisi_session::{ConsideredView, LoadedVariant};

use super::scaler::VariantScaler;
use crate::served::ServedTasks;

/// The goals of queries that state none.
pub(crate) const WHOLE: &str = "whole ensemble";
/// The maximum number of actions to show.
const MOST: usize = 24;

/// Returns goals in words: `98.5 %, 20 ms`, `whole ensemble` for queries without goals, or `any`
/// for those that prefer the cheapest variant.
pub(crate) fn goals(goals: &QueryGoals) -> String {
    let accuracy = goals
        .accuracy
        .map(|a| format!("{} %", as_asked(100.0 * a.get())));
    let latency = goals.latency.map(|d| {
        let millis = 1e3 * d.get().as_secs_f64();
        format!("{} ms", as_asked(millis))
    });
    let cost = goals.max_cost.map(|c| {
        let million = COST_QUERIES * c.get();
        format!("cost {}", as_asked(million))
    });
    let prefer =
        (goals.prefer == ChoicePreference::MostAccurate).then(|| "the most accurate".to_owned());
    let whole = goals.whole.map(|_| WHOLE.to_owned());
    let all = [whole, accuracy, latency, cost, prefer]
        .into_iter()
        .flatten();
    let all: Vec<String> = all.collect();
    match all.is_empty() {
        true => "any".to_owned(),
        false => all.join(", "),
    }
}

/// Returns a number without the rounding errors of a multiplication.
pub(crate) fn as_asked(number: f64) -> f64 {
    format!("{number:.9e}").parse().unwrap_or(number)
}

/// Returns the considered actions, the taken ones first.
pub(super) fn considered(
    tasks: &ServedTasks,
    considered: &[ConsideredAction],
) -> Vec<ConsideredView> {
    let mut all: Vec<ConsideredView> = Vec::new();
    for action in considered {
        let view = view(tasks, action);
        // Streams of a task consider the same variants.
        if !all.contains(&view) {
            all.push(view);
        }
    }
    all.sort_by_key(|view| !view.taken);
    all.truncate(MOST);
    all
}

fn view(tasks: &ServedTasks, considered: &ConsideredAction) -> ConsideredView {
    let words = |variant: VariantIndex| tasks.words(variant);
    let action = match considered.action {
        ScalingAction::Keep => {
            let task = tasks.catalog().name(considered.task);
            format!("keep `{task}` unchanged")
        }
        ScalingAction::Replicate(variant, more) => format!("{more} more of {}", words(variant)),
        ScalingAction::Switch(variant, count) => format!("load {count} of {}", words(variant)),
        ScalingAction::Remove(variant, fewer) => format!("{fewer} fewer of {}", words(variant)),
        ScalingAction::Move(variant) => format!("move {}", words(variant)),
    };
    ConsideredView {
        action,
        outcome: considered.outcome.to_string(),
        taken: considered.outcome == ActionOutcome::Taken,
    }
}

/// Returns the loaded variants with their states.
pub(super) fn loaded(tasks: &ServedTasks, scaler: &VariantScaler) -> Vec<LoadedVariant> {
    let states: Vec<VariantState> = scaler.states().collect();
    let running = scaler.hosted().running();
    let views = running.map(|(variant, instances)| LoadedVariant {
        name: tasks.groups()[tasks.group_of(variant)].name.clone(),
        batch: tasks.catalog().variant(variant).batch.get(),
        instances,
        state: states[variant.get()].to_string(),
    });
    views.collect()
}

/// Returns the difference between instances in words: `+2 digits.int8.cnn of 16, −1 …`, where 16 is
/// the batch size.
pub(super) fn difference(
    tasks: &ServedTasks,
    before: &HostedInstances,
    after: &HostedInstances,
) -> String {
    let changes = after.changes_from(before);
    let mut totals: Vec<(VariantIndex, i32)> = Vec::new();
    for change in changes {
        match totals.iter_mut().find(|(v, _)| *v == change.variant) {
            Some((_, sum)) => *sum += change.instances,
            None => totals.push((change.variant, change.instances)),
        }
    }
    let words = totals.iter().map(|(variant, sum)| {
        let name = &tasks.groups()[tasks.group_of(*variant)].name;
        let batch = tasks.catalog().variant(*variant).batch;
        match sum {
            0 => format!("{name} of {batch} moved"),
            sum => format!("{sum:+} {name} of {batch}"),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}
