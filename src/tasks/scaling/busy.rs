//! The device time used by groups of variants, and the slowdown of their batches relative to their
//! profiles.

use std::collections::BTreeMap;
use std::time::Duration;

use divisi_engine::deployment::Generation;
use divisi_model::catalogue::Catalogue;
use divisi_modelless::variants::VariantIndex;
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};

use crate::routing::TaskRouter;
use crate::served::{ServedTasks, VariantGroup};

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
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSeen {
    /// The answered samples.
    pub samples: u64,
    /// The device seconds used.
    pub busy: f64,
    /// The ratio of batch time to profiled time; 1 without batches or if they hardly differ.
    pub slowdown: f64,
    /// The same ratio for each device with batches of all members.
    pub devices: Vec<(DeviceIndex, f64)>,
}

impl GroupSeen {
    /// A group without batches.
    pub const IDLE: GroupSeen = GroupSeen {
        samples: 0,
        busy: 0.0,
        slowdown: 1.0,
        devices: Vec::new(),
    };

    /// Returns the ratio of batch time to profiled time on a device, or `None` without batches of
    /// all members.
    pub fn slowdown_on(&self, device: DeviceIndex) -> Option<f64> {
        let mut known = self.devices.iter();
        known
            .find(|(at, _)| *at == device)
            .map(|(_, slowdown)| *slowdown)
    }
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
        number: u64,
        catalogue: &Catalogue,
        devices: &Devices,
        workers: &[(DeviceIndex, MemberIndex, WorkerCounts)],
        answered: Vec<u64>,
    ) -> Vec<GroupSeen> {
        let ran = self.since_last(number, workers);
        let before = std::mem::replace(&mut self.answered, answered);
        let groups = tasks.groups().iter().zip(&self.answered).enumerate();
        let each = groups.map(|(at, (group, total))| {
            let samples = total.saturating_sub(before.get(at).copied().unwrap_or(0));
            let entry = catalogue.find(&group.name, None);
            let entry = entry.filter(|_| samples > 0);
            let seen = entry.map(|entry| {
                let columns = &**catalogue.entries()[entry].columns();
                group_seen(tasks, group, samples, devices, columns, &ran)
            });
            seen.unwrap_or(GroupSeen {
                samples,
                ..GroupSeen::IDLE
            })
        });
        each.collect()
    }

    /// Returns the counts of each worker since the last call.
    fn since_last(
        &mut self,
        number: u64,
        workers: &[(DeviceIndex, MemberIndex, WorkerCounts)],
    ) -> Vec<(DeviceIndex, MemberIndex, WorkerCounts)> {
        let before = std::mem::take(&mut self.workers);
        let each = workers.iter().map(|(device, member, counts)| {
            let place = (number, *device, *member);
            let known = before.get(&place).copied().unwrap_or_default();
            self.workers.insert(place, *counts);
            let more = WorkerCounts {
                seconds: (counts.seconds - known.seconds).max(0.0),
                samples: counts.samples.saturating_sub(known.samples),
                batches: counts.batches.saturating_sub(known.batches),
            };
            (*device, *member, more)
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
    busy.update(
        tasks,
        running.number,
        &running.catalogue,
        running.engine.devices(),
        &workers,
        answered.collect(),
    )
}

/// The mean time and size of the batches of a group's members.
struct MeanBatch {
    /// The device seconds of a sample, over all members.
    each: f64,
    /// The number of samples, or `None` without batches of every member: the sum is then not the
    /// time of a whole batch.
    size: Option<u32>,
}

impl MeanBatch {
    fn new(
        columns: &[MemberIndex],
        ran: &[(DeviceIndex, MemberIndex, WorkerCounts)],
        is_on: impl Fn(DeviceIndex) -> bool,
    ) -> Self {
        let (mut each, mut size, mut members) = (0.0_f64, 0.0_f64, 0_u32);
        for column in columns {
            let own = ran
                .iter()
                .filter(|(at, member, _)| member == column && is_on(*at));
            let sum = own.fold(WorkerCounts::default(), |sum, (.., counts)| WorkerCounts {
                seconds: sum.seconds + counts.seconds,
                samples: sum.samples + counts.samples,
                batches: sum.batches + counts.batches,
            });
            if sum.samples > 0 {
                each += sum.seconds / sum.samples as f64;
                size += sum.samples as f64 / sum.batches.max(1) as f64;
                members += 1;
            }
        }
        let mean = (size / f64::from(members.max(1))).round().max(1.0);
        let is_whole = members as usize == columns.len() && members > 0;
        MeanBatch {
            each,
            size: is_whole.then_some(mean as u32),
        }
    }

    /// Returns the ratio of the time of a sample to that in the profiles of these variants.
    fn slowdown(&self, tasks: &ServedTasks, variants: &[VariantIndex]) -> Option<f64> {
        self.size
            .map(|size| slowdown(tasks, variants, size, self.each))
    }
}

fn group_seen(
    tasks: &ServedTasks,
    group: &VariantGroup,
    samples: u64,
    devices: &Devices,
    columns: &[MemberIndex],
    ran: &[(DeviceIndex, MemberIndex, WorkerCounts)],
) -> GroupSeen {
    let all = MeanBatch::new(columns, ran, |_| true);
    let on_device = DeviceIndex::enumerate(devices.iter()).filter_map(|(at, device)| {
        let variants: Vec<VariantIndex> = tasks.on_device(group, device).collect();
        let batch = MeanBatch::new(columns, ran, |other| other == at);
        Some((at, batch.slowdown(tasks, &variants)?))
    });
    GroupSeen {
        samples,
        busy: samples as f64 * all.each,
        slowdown: all.slowdown(tasks, &group.variants).unwrap_or(1.0),
        devices: on_device.collect(),
    }
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
