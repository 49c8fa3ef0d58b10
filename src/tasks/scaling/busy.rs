//! The device time used by groups of variants, and the slowdown of their batches relative to their
//! profiles.

use std::collections::BTreeMap;
use std::time::Duration;

use divisi_engine::deployment::Generation;
use divisi_model::catalogue::Catalogue;
use divisi_modelless::variants::VariantIndex;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use crate::routing::TaskRouter;
use crate::served::ServedTasks;

/// The difference to the profile below which a batch counts as undisturbed: dispatching takes as
/// long.
const NOISE: Duration = Duration::from_micros(100);

/// The counters of a worker since the start of its engine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerCounts {
    /// The device seconds of its batches.
    pub seconds: f64,
    /// The samples of its batches.
    pub samples: u64,
    /// The number of its batches.
    pub batches: u64,
}

/// A group of variants in the last interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupSeen {
    /// The answered samples.
    pub samples: u64,
    /// The device seconds used.
    pub busy: f64,
    /// The ratio of batch time to profiled time; 1 without batches or if they hardly differ.
    pub slowdown: f64,
}

impl GroupSeen {
    /// A group without batches.
    pub const IDLE: GroupSeen = GroupSeen {
        samples: 0,
        busy: 0.0,
        slowdown: 1.0,
    };
}

/// A worker, by its engine's number and its cell.
type WorkerPlace = (u64, DeviceIndex, MemberIndex);

/// The last counters of workers and groups.
#[derive(Clone, Debug, Default)]
pub struct BusyGroups {
    workers: BTreeMap<WorkerPlace, WorkerCounts>,
    answered: Vec<u64>,
}

impl BusyGroups {
    /// Records the counters of an engine's workers, and the samples answered by each group since
    /// the start. Returns the work of each group since the last call.
    ///
    /// The time of a member is divided among its groups by their samples. Batches of an engine that
    /// ended in the interval are left out.
    pub fn update(
        &mut self,
        tasks: &ServedTasks,
        (number, catalogue): (u64, &Catalogue),
        workers: &[(DeviceIndex, MemberIndex, WorkerCounts)],
        answered: Vec<u64>,
    ) -> Vec<GroupSeen> {
        let mut columns: BTreeMap<MemberIndex, WorkerCounts> = BTreeMap::new();
        let mut now = BTreeMap::new();
        for (device, member, counts) in workers {
            let place = (number, *device, *member);
            let before = self.workers.get(&place).copied().unwrap_or_default();
            let column = columns.entry(*member).or_default();
            column.seconds += (counts.seconds - before.seconds).max(0.0);
            column.samples += counts.samples.saturating_sub(before.samples);
            column.batches += counts.batches.saturating_sub(before.batches);
            now.insert(place, *counts);
        }
        let before = std::mem::replace(&mut self.answered, answered);
        self.workers = now;
        let groups = tasks.groups().iter().zip(&self.answered).enumerate();
        let each = groups.map(|(at, (group, total))| {
            let samples = total.saturating_sub(before.get(at).copied().unwrap_or(0));
            let entry = catalogue.find(&group.name, None);
            let entry = entry.filter(|_| samples > 0);
            let seen = entry.map(|entry| {
                let of_group = catalogue.entries()[entry].columns().iter();
                let counts: Vec<WorkerCounts> = of_group
                    .map(|column| columns.get(column).copied().unwrap_or_default())
                    .collect();
                of_columns(tasks, &group.variants, samples, &counts)
            });
            seen.unwrap_or(GroupSeen {
                samples,
                ..GroupSeen::IDLE
            })
        });
        each.collect()
    }
}

/// Returns the work of each group since the last call, from the counters of the running engine.
pub(crate) fn seen_groups(
    busy: &mut BusyGroups,
    router: &TaskRouter,
    running: &Generation,
) -> Vec<GroupSeen> {
    let workers = running.engine.telemetry().observe().workers;
    let workers = workers.iter().map(|worker| {
        let counts = WorkerCounts {
            seconds: worker.seconds,
            samples: worker.samples,
            batches: worker.batches,
        };
        (worker.spec.device, worker.spec.member, counts)
    });
    let workers: Vec<_> = workers.collect();
    let (tasks, tallies) = (router.tasks(), router.variant_tallies());
    let answered = tasks.groups().iter().map(|group| {
        let of_group = group.variants.iter().map(|at| tallies[at.get()].samples);
        of_group.sum()
    });
    let engine = (running.number, &*running.catalogue);
    busy.update(tasks, engine, &workers, answered.collect())
}

fn of_columns(
    tasks: &ServedTasks,
    variants: &[VariantIndex],
    samples: u64,
    columns: &[WorkerCounts],
) -> GroupSeen {
    let ran = columns.iter().filter(|column| column.samples > 0);
    let (mut each, mut batch, mut count) = (0.0, 0.0, 0);
    for column in ran {
        each += column.seconds / column.samples as f64;
        batch += column.samples as f64 / column.batches.max(1) as f64;
        count += 1;
    }
    let mut seen = GroupSeen {
        samples,
        busy: samples as f64 * each,
        slowdown: 1.0,
    };
    // Without batches of every member, the sum is not the time of a whole batch.
    if count == columns.len() && count > 0 {
        let batch = (batch / f64::from(count as u32)).round().max(1.0) as u32;
        seen.slowdown = slowdown(tasks, variants, batch, each);
    }
    seen
}

/// Returns the ratio of the time of a sample to that in the profile of the variant with the next
/// larger batch size.
fn slowdown(tasks: &ServedTasks, variants: &[VariantIndex], batch: u32, each: f64) -> f64 {
    let catalog = tasks.catalog();
    let all = variants.iter().map(|at| catalog.variant(*at));
    let fitting = all.clone().filter(|variant| variant.batch.get() >= batch);
    let fitting = fitting.min_by_key(|variant| variant.batch);
    let Some(variant) = fitting.or_else(|| all.max_by_key(|variant| variant.batch)) else {
        return 1.0;
    };
    let batch = batch.min(variant.batch.get());
    let expected = variant.profile.latency.mean(batch).as_secs_f64() / f64::from(batch);
    let differs = f64::from(batch) * (each - expected).abs();
    let ratio = match expected > 0.0 && differs > NOISE.as_secs_f64() {
        true => each / expected,
        false => 1.0,
    };
    // Smaller batches than the smallest measured one take less time than the profile.
    match variant.profile.latency.points().first() {
        Some(smallest) if batch >= smallest.batch => ratio,
        _ => ratio.max(1.0),
    }
}
