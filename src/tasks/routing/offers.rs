//! The way in which the queries of each stream would be answered on idle devices.

use std::sync::Arc;
use std::time::Duration;

use divisi_modelless::demands::QueryStream;
use divisi_modelless::goals::{ChoicePreference, LatencyGoal};
use divisi_modelless::variants::Variant;

use super::backlog::QueryPlace;
use super::due_work::nanoseconds;
use super::prospect::{part_of_batch, place};
use super::terms::StreamOffer;
use crate::served::{RunningVariant, ServedTasks, TaskQuery};

/// Returns the offer of a stream: its preferred running variant. Returns `None` if deadlines do not
/// order its queries, or no running variant meets its goals.
pub(super) fn offer(
    tasks: &ServedTasks,
    running: &[Arc<RunningVariant>],
    stream: &QueryStream,
) -> Option<StreamOffer> {
    let latency = stream.goals.latency.map(LatencyGoal::get)?;
    let meeting = running.iter().filter(|r| meets(tasks, r, stream, latency));
    let variant = |running: &RunningVariant| tasks.catalog().variant(running.variant);
    let preferred = match stream.goals.prefer {
        ChoicePreference::Cheapest => meeting.min_by(|a, b| {
            let cost = |running: &RunningVariant| variant(running).query_cost().get();
            cost(a).total_cmp(&cost(b))
        }),
        ChoicePreference::MostAccurate => meeting.max_by(|a, b| {
            let accuracy = |running: &RunningVariant| variant(running).accuracy.value().get();
            accuracy(a).total_cmp(&accuracy(b))
        }),
    };
    preferred.map(|running| StreamOffer {
        price: price(variant(running)),
        latency,
        devices: running.devices.clone(),
    })
}

/// Returns the device time of a sample in a full batch, in nanoseconds.
fn price(variant: &Variant) -> f64 {
    nanoseconds(part_of_batch(variant, 1, variant.batch.get())) as f64
}

fn meets(
    tasks: &ServedTasks,
    running: &RunningVariant,
    stream: &QueryStream,
    latency: Duration,
) -> bool {
    let variant = tasks.catalog().variant(running.variant);
    let query = TaskQuery {
        task: stream.task,
        goals: &stream.goals,
        samples: 1,
        priority: 0,
    };
    let group = tasks.group_of(running.variant);
    tasks.catalog().task_of(running.variant) == stream.task
        && stream.goals.allows(variant)
        && variant.profile.latency.p99(1) <= latency
        && matches!(
            place(tasks, group, query, Duration::ZERO),
            QueryPlace::DueBy(_)
        )
}
