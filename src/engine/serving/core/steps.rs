//! The figures of pipelines' steps: their rows, their times, and the steps that requests waited
//! for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::serving::batch::{BatchId, PipelineIndex};
use divisi_model::catalogue::StepShare;
use divisi_model::dataflow::{PartProgress, StepIndex};
use divisi_model::metrics::RateRing;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::Core;
use super::stats::{LATELY, rates};

/// The figures of a step of a pipeline. Counters start at the engine's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepStats {
    /// Rows that entered the step.
    pub rows: u64,
    /// Rows with a result. Conditions let only some of their rows pass.
    pub made: u64,
    /// Rows that skipped the step because a condition did not hold.
    pub skipped: u64,
    /// Parts of requests that entered the step. Most requests have one part.
    pub parts: u64,
    /// Parts whose quorum continued without the step.
    pub late: u64,
    /// Requests with the step on their longest chain.
    pub critical: u64,
    /// Requests that the step completed.
    pub last: u64,
    /// The waiting time of its rows, summed over rows.
    pub waited: Duration,
    /// The computing time, summed over rows. Each row counts the whole time of its batch.
    pub computed: Duration,
    /// Recent rows per second.
    pub rows_per_s: f64,
    /// Rows waiting now.
    pub queued: usize,
}

impl StepStats {
    /// Returns the share of arriving rows that the step ran for, or `None` if none arrived.
    pub fn share(&self) -> Option<f64> {
        let reached = self.rows + self.skipped;
        (reached > 0).then(|| self.rows as f64 / reached as f64)
    }

    /// Returns the rows as shares.
    pub fn shares(&self) -> StepShare {
        StepShare::from_rows(self.rows, self.skipped, self.made)
    }

    /// Returns the mean waiting time of a row.
    pub fn mean_wait(&self) -> Duration {
        mean(self.waited, self.rows)
    }

    /// Returns the mean computing time of a row. Each row counts the whole time of its batch.
    pub fn mean_compute(&self) -> Duration {
        mean(self.computed, self.rows)
    }
}

fn mean(sum: Duration, rows: u64) -> Duration {
    sum.div_f64(rows.max(1) as f64)
}

/// The end of a step's work for rows of a part.
pub(super) struct StepEnd {
    pub step: StepIndex,
    /// The awaited work of the part: samples of a model, or 1 for a step on the host.
    pub outstanding: usize,
    pub rows: usize,
    pub made: usize,
    pub waited: Duration,
    pub computed: Duration,
    /// The batch with its device and its member, or `None` for a step on the host.
    pub batch: Option<(BatchId, DeviceIndex, MemberIndex)>,
}

/// The counters of one step.
pub(super) struct StepTally {
    stats: StepStats,
    waited_ns: u64,
    computed_ns: u64,
    recent: RateRing,
    /// Rows that are waiting or running.
    open: usize,
}

impl StepTally {
    fn new() -> Self {
        StepTally {
            stats: StepStats::default(),
            waited_ns: 0,
            computed_ns: 0,
            recent: rates(),
            open: 0,
        }
    }

    /// Records that the step can run for rows of a part.
    pub(super) fn is_ready(&mut self, rows: usize) {
        self.stats.parts += 1;
        self.open += rows;
    }

    /// Records the end of a run.
    pub(super) fn ended(&mut self, now: Duration, end: &StepEnd) {
        let rows = end.rows as u64;
        self.open = self.open.saturating_sub(end.rows);
        self.stats.rows += rows;
        self.stats.made += end.made as u64;
        self.waited_ns += rows * nanos(end.waited);
        self.computed_ns += rows * nanos(end.computed);
        self.recent.add(now, end.rows as f64);
    }

    /// Records that the step folded rows as they arrived.
    pub(super) fn folded(&mut self, now: Duration, rows: usize) {
        self.is_ready(0);
        self.stats.rows += rows as u64;
        self.stats.made += rows as u64;
        self.recent.add(now, rows as f64);
    }

    /// Records rows that were removed before the step ran for them.
    pub(super) fn gave_up(&mut self, rows: usize) {
        self.open = self.open.saturating_sub(rows);
    }

    /// Records rows of a part that skip the step.
    pub(super) fn skipped(&mut self, rows: usize) {
        self.stats.skipped += rows as u64;
    }

    /// Records that a quorum continued without the step.
    pub(super) fn was_late(&mut self) {
        self.stats.late += 1;
    }

    /// Returns the counters. `running` is the number of rows in execution.
    fn stats(&mut self, now: Duration, running: usize) -> StepStats {
        StepStats {
            waited: Duration::from_nanos(self.waited_ns),
            computed: Duration::from_nanos(self.computed_ns),
            rows_per_s: self.recent.rate(now, LATELY),
            queued: self.open.saturating_sub(running),
            ..self.stats
        }
    }
}

/// Faster than [`Duration::as_nanos`], which computes in 128 bits.
fn nanos(time: Duration) -> u64 {
    time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos())
}

/// Returns counters for `steps` steps.
pub(super) fn tallies(steps: usize) -> Vec<StepTally> {
    (0..steps).map(|_| StepTally::new()).collect()
}

/// Counts the steps on the chain of a part that completed its request.
pub(super) fn count_chain(tallies: &mut [StepTally], part: &PartProgress) {
    for (nth, step) in part.longest_chain().enumerate() {
        let stats = &mut tallies[step.get()].stats;
        stats.critical += 1;
        stats.last += u64::from(nth == 0);
    }
}

impl<T: Clone> Core<T> {
    /// Returns the figures of each step of a pipeline.
    pub fn step_stats(&mut self, now: Duration, pipeline: PipelineIndex) -> Vec<StepStats> {
        let mut running = vec![0; self.steps[pipeline.0].len()];
        for range in self.running.values().flat_map(|batch| &batch.ranges) {
            let entry = self.requests.get(&range.request);
            if entry.is_some_and(|entry| entry.pipeline == pipeline) {
                running[range.step.get()] += range.len;
            }
        }
        let tallies = self.steps[pipeline.0].iter_mut();
        let each = tallies.zip(running);
        each.map(|(tally, running)| tally.stats(now, running))
            .collect()
    }
}
