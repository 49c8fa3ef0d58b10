//! Variants as a console shows them.

use std::collections::BTreeMap;

use divisi_engine::deployment::Generation;
use divisi_modelless::quantities::COST_QUERIES;
use divisi_modelless::variants::{Variant, VariantIndex};
use divisi_session::{CountedAccuracy, GoalCounts, RunningBatches, VariantView};

use crate::routing::{LiveRouter, VariantTally};
use crate::served::{ServedTasks, VariantGroup};

/// Returns the entries of a generation that are variants of a router's tasks, by their names.
pub fn variants(live: &LiveRouter, running: &Generation) -> BTreeMap<String, VariantView> {
    let (router, counts) = (live.router(), live.counts());
    let (tasks, engine) = (router.tasks(), &running.engine);
    let variants = tasks.running(&running.catalogue, &engine.matrix(), engine.devices());
    let views = tasks.groups().iter().map(|group| {
        let of_group = |at: &VariantIndex| group.variants.contains(at);
        let mut running = variants.iter().map(|running| running.variant);
        let running = running.find(of_group);
        let tally = counts.of_entry(tasks.catalog().name(group.task), &group.name);
        (group.name.clone(), view(tasks, group, running, tally))
    });
    views.collect()
}

fn view(
    tasks: &ServedTasks,
    group: &VariantGroup,
    running: Option<VariantIndex>,
    tally: VariantTally,
) -> VariantView {
    let catalog = tasks.catalog();
    // The variants of a group have the same accuracy.
    let first = running.or(group.variants.first().copied());
    let variant = first.map(|at| catalog.variant(at));
    let accuracy = variant.map(|variant| variant.accuracy);
    VariantView {
        task: catalog.name(group.task).to_owned(),
        accuracy: accuracy.map_or(0.0, |accuracy| accuracy.value().get()),
        counted: accuracy.and_then(|accuracy| {
            let interval = accuracy.interval()?;
            Some(CountedAccuracy {
                low: interval.low.get(),
                high: interval.high.get(),
                rows: accuracy.rows()?,
            })
        }),
        running: running.map(|at| batches(catalog.variant(at))),
        goals: goal_counts(&tally),
    }
}

fn batches(variant: &Variant) -> RunningBatches {
    RunningBatches {
        size: variant.batch.get(),
        alone: variant.profile.latency.p99(1),
        full: variant.p99(),
        cost: COST_QUERIES * variant.query_cost().get(),
    }
}

fn goal_counts(tally: &VariantTally) -> GoalCounts {
    GoalCounts {
        answered: tally.answered,
        met: tally.met,
        missed_accuracy: tally.missed_accuracy,
        missed_latency: tally.missed_latency,
        missed_cost: tally.missed_cost,
        cost: tally.cost,
    }
}
