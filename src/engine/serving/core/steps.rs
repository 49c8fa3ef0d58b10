//! How the steps of pipelines do: their rows, where the time went, and which of them requests
//! waited for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::serving::batch::PipelineIndex;
use divisi_model::catalogue::StepShare;
use divisi_model::dataflow::{PartProgress, StepIndex};
use divisi_model::metrics::RateRing;

use super::Core;
use super::stats::{LATELY, rates};

/// How a step of a pipeline does. Counters are those since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepStats {
    /// Rows that it was run for.
    pub rows: u64,
    /// Rows that have a result: fewer than it was run for where it is a condition.
    pub made: u64,
    /// Rows that it was not run for, because a condition did not hold.
    pub skipped: u64,
    /// Parts of requests that it was run for. Most requests are of one part.
    pub parts: u64,
    /// Parts whose quorum went on without it.
    pub late: u64,
    /// Requests whose longest chain of steps it was on.
    pub critical: u64,
    /// Requests that were over once it was.
    pub last: u64,
    /// The time that its rows waited until it began, summed over rows.
    pub waited: Duration,
    /// The time that it computed, summed over rows: each took as long as its batch.
    pub computed: Duration,
    /// Rows a second, lately.
    pub rows_per_s: f64,
    /// Rows that wait for it now.
    pub queued: usize,
}

impl StepStats {
    /// Returns the share of the rows that reach it that it is run for, or `None` if none did.
    pub fn share(&self) -> Option<f64> {
        let reached = self.rows + self.skipped;
        (reached > 0).then(|| self.rows as f64 / reached as f64)
    }

    /// Returns its rows as shares.
    pub fn shares(&self) -> StepShare {
        StepShare::of_rows(self.rows, self.skipped, self.made)
    }

    /// Returns how long a row waited for it on average.
    pub fn mean_wait(&self) -> Duration {
        mean(self.waited, self.rows)
    }

    /// Returns how long it computed for a row on average, as long as its batch took.
    pub fn mean_compute(&self) -> Duration {
        mean(self.computed, self.rows)
    }
}

fn mean(sum: Duration, rows: u64) -> Duration {
    sum.div_f64(rows.max(1) as f64)
}

/// The end of work that a step did for rows of a part.
pub(super) struct StepEnd {
    pub step: StepIndex,
    /// The work that the part waited for: samples of a model, or one step of the host's.
    pub outstanding: usize,
    pub rows: usize,
    pub made: usize,
    pub waited: Duration,
    pub computed: Duration,
}

/// Counters of one step.
pub(super) struct StepTally {
    stats: StepStats,
    waited_ns: u64,
    computed_ns: u64,
    recent: RateRing,
    /// Rows that wait or are run.
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

    /// It may run for so many rows of a part.
    pub(super) fn is_ready(&mut self, rows: usize) {
        self.stats.parts += 1;
        self.open += rows;
    }

    /// It was run.
    pub(super) fn ended(&mut self, now: Duration, end: &StepEnd) {
        let rows = end.rows as u64;
        self.open = self.open.saturating_sub(end.rows);
        self.stats.rows += rows;
        self.stats.made += end.made as u64;
        self.waited_ns += rows * nanos(end.waited);
        self.computed_ns += rows * nanos(end.computed);
        self.recent.add(now, end.rows as f64);
    }

    /// It folded so many rows as they came.
    pub(super) fn folded(&mut self, now: Duration, rows: usize) {
        self.is_ready(0);
        self.stats.rows += rows as u64;
        self.stats.made += rows as u64;
        self.recent.add(now, rows as f64);
    }

    /// Rows were taken out before it was run for them.
    pub(super) fn gave_up(&mut self, rows: usize) {
        self.open = self.open.saturating_sub(rows);
    }

    /// It is not run for so many rows of a part.
    pub(super) fn skipped(&mut self, rows: usize) {
        self.stats.skipped += rows as u64;
    }

    /// A quorum went on without it.
    pub(super) fn was_late(&mut self) {
        self.stats.late += 1;
    }

    /// Returns the counters, where so many rows are being run.
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

/// Cheaper than [`Duration::as_nanos`], which counts in 128 bits.
fn nanos(time: Duration) -> u64 {
    time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos())
}

/// Returns counters for so many steps.
pub(super) fn tallies(steps: usize) -> Vec<StepTally> {
    (0..steps).map(|_| StepTally::new()).collect()
}

/// A request is over with a part: counts the steps that it waited for.
pub(super) fn count_chain(tallies: &mut [StepTally], part: &PartProgress) {
    for (nth, step) in part.longest_chain().enumerate() {
        let stats = &mut tallies[step.get()].stats;
        stats.critical += 1;
        stats.last += u64::from(nth == 0);
    }
}

impl<T: Clone> Core<T> {
    /// Returns how each step of a pipeline does.
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
