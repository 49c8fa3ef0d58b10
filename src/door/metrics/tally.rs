//! The counts of each version of a model.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use divisi_engine::serving::StepRun;
use divisi_model::wall_clock::unix_millis;
use divisi_runtime::lock::SharedLeaf;

use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::ModelId;
use divisi_inference::service::{InferenceAnswer, ModelDescription, RunCounter};

use super::batches::{BatchStatistics, BatchTally};
use super::histogram::{Histogram, HistogramReading};
use super::inner::InnerTimes;
use super::timed::{Counter, TimedCount};

/// The statistics of a version of a model since the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelStatistics {
    /// The model's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The time of the last answer in milliseconds of Unix time.
    pub last: u64,
    /// Samples answered.
    pub samples: u64,
    /// The number of executed batches, or of requests if it is not a single model.
    pub executions: u64,
    /// Requests answered.
    pub success: TimedCount,
    /// Requests that failed, or were refused.
    pub fail: TimedCount,
    /// The failures by reason.
    pub reasons: Vec<(&'static str, u64)>,
    /// The time in the queue.
    pub queue: TimedCount,
    /// The time of copying inputs.
    pub input: TimedCount,
    /// The time of computing.
    pub compute: TimedCount,
    /// The time of combining outputs.
    pub output: TimedCount,
    /// Requests answered from the cache.
    pub hits: TimedCount,
    /// Requests whose answers were not in the cache.
    pub misses: TimedCount,
    /// The executed batches by size: its own, and those of members that are not models by
    /// themselves.
    pub batches: Vec<BatchStatistics>,
    /// Requests waiting for their first batch, or in progress if the start of batches is unknown.
    pub pending: u64,
    /// The times of clients' answered requests.
    pub durations: HistogramReading,
    /// The times that these requests waited, except cached ones.
    pub queues: HistogramReading,
    /// The times that these requests were computed, except cached ones.
    pub computes: HistogramReading,
}

/// The use of the cache for a request, and the lookup time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheUse {
    /// The cache was not used.
    None,
    /// The answer was cached.
    Hit(Duration),
    /// The answer was not cached.
    Miss(Duration),
}

/// The reasons of failures, with Triton's names.
const REASONS: [&str; 4] = ["REJECTED", "CANCELED", "BACKEND", "OTHER"];

/// Counts the requests of a version of a model.
#[derive(Debug, Default)]
pub(crate) struct ModelTally {
    last: AtomicU64,
    samples: AtomicU64,
    executions: AtomicU64,
    success: Counter,
    fail: Counter,
    reasons: [AtomicU64; REASONS.len()],
    queue: Counter,
    input: Counter,
    compute: Counter,
    output: Counter,
    hits: Counter,
    misses: Counter,
    batches: BatchTally,
    pending: AtomicI64,
    durations: Histogram,
    queues: Histogram,
    computes: Histogram,
}

impl ModelTally {
    /// Counts the start of a request; the returned value counts its end.
    pub(crate) fn begin(self: &Arc<Self>) -> RequestTally {
        self.pending.fetch_add(1, Ordering::Relaxed);
        RequestTally {
            of: Arc::clone(self),
            began: std::time::Instant::now(),
            over: false,
        }
    }

    fn answered(&self, took: Duration, answer: &InferenceAnswer, cache: CacheUse, batches: u64) {
        self.success.add(took);
        self.durations.add(took);
        self.last.fetch_max(unix_millis(), Ordering::Relaxed);
        match cache {
            // As in Triton, a cached answer has no queue time.
            CacheUse::Hit(took) => {
                self.queue.add(Duration::ZERO);
                return self.hits.add(took);
            }
            CacheUse::Miss(took) => self.misses.add(took),
            CacheUse::None => {}
        }
        self.queues.add(answer.times.queue);
        self.computes.add(answer.times.compute);
        self.queue.add(answer.times.queue);
        self.input.add(answer.times.input);
        self.compute.add(answer.times.compute);
        self.output.add(answer.times.output);
        self.samples.fetch_add(answer.samples, Ordering::Relaxed);
        self.executions.fetch_add(batches, Ordering::Relaxed);
    }

    /// Counts the runs for a request to another model that uses this one as a step: one request
    /// with the times of the run that ended last. It failed if any run failed.
    fn ran<'r>(
        &self,
        last: &StepRun,
        all: impl Iterator<Item = &'r StepRun> + Clone,
        one_sample: bool,
    ) {
        let parts = [last.queued, last.input, last.computed, last.output];
        let batches = self.batches.count(all.clone(), one_sample);
        self.executions.fetch_add(batches, Ordering::Relaxed);
        if let Some(why) = all.clone().find_map(|run| run.failed) {
            return self.failed(parts.iter().sum(), ErrorKind::of_code(why));
        }
        self.success.add(parts.iter().sum());
        let counters = [&self.queue, &self.input, &self.compute, &self.output];
        for (counter, part) in counters.into_iter().zip(parts) {
            counter.add(part);
        }
        let rows = match one_sample {
            true => 1,
            false => all.map(|run| run.rows).sum(),
        };
        self.samples.fetch_add(rows as u64, Ordering::Relaxed);
        self.last.fetch_max(unix_millis(), Ordering::Relaxed);
    }

    /// Counts the runs for a request to an ensemble that contains this one: one request with the
    /// time since its first step. It failed if any run failed.
    fn ran_within<'r>(&self, runs: impl Iterator<Item = &'r StepRun> + Clone, one_sample: bool) {
        let times = InnerTimes::from_runs(runs.clone());
        if let Some(why) = runs.clone().find_map(|run| run.failed) {
            return self.failed(times.total(), ErrorKind::of_code(why));
        }
        self.success.add(times.total());
        self.queue.add(times.queue);
        self.input.add(times.input);
        self.compute.add(times.compute);
        self.output.add(times.output);
        let rows = if one_sample { 1 } else { most_rows(runs) };
        self.samples.fetch_add(rows, Ordering::Relaxed);
        self.executions.fetch_add(1, Ordering::Relaxed);
        self.last.fetch_max(unix_millis(), Ordering::Relaxed);
    }

    /// Counts a request that was refused while it was read.
    pub(crate) fn refuse(&self, kind: ErrorKind) {
        self.failed(Duration::ZERO, kind);
    }

    fn failed(&self, took: Duration, kind: ErrorKind) {
        self.fail.add(took);
        let at = REASONS.iter().position(|reason| *reason == kind.reason());
        if let Some(counter) = at.and_then(|at| self.reasons.get(at)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read(&self, name: &str, version: &str) -> ModelStatistics {
        let reasons = REASONS.iter().zip(&self.reasons);
        ModelStatistics {
            name: name.to_owned(),
            version: version.to_owned(),
            last: self.last.load(Ordering::Relaxed),
            samples: self.samples.load(Ordering::Relaxed),
            executions: self.executions.load(Ordering::Relaxed),
            success: self.success.read(),
            fail: self.fail.read(),
            reasons: reasons
                .map(|(reason, count)| (*reason, count.load(Ordering::Relaxed)))
                .collect(),
            queue: self.queue.read(),
            input: self.input.read(),
            compute: self.compute.read(),
            output: self.output.read(),
            hits: self.hits.read(),
            misses: self.misses.read(),
            batches: self.batches.read(),
            pending: self.pending.load(Ordering::Relaxed).max(0) as u64,
            durations: self.durations.read(),
            queues: self.queues.read(),
            computes: self.computes.read(),
        }
    }
}

/// Returns the largest number of rows of a step.
fn most_rows<'r>(runs: impl Iterator<Item = &'r StepRun>) -> u64 {
    let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
    for run in runs {
        *rows.entry(run.step.get()).or_default() += run.rows;
    }
    rows.into_values().max().unwrap_or_default() as u64
}

/// A request in progress. If it is dropped before its end, its client cancelled it.
#[derive(Debug)]
pub(crate) struct RequestTally {
    of: Arc<ModelTally>,
    began: std::time::Instant,
    over: bool,
}

impl RequestTally {
    /// Counts the request for another version of the model, which answers it.
    pub(crate) fn goes_to(&mut self, other: Arc<ModelTally>) {
        other.pending.fetch_add(1, Ordering::Relaxed);
        self.of.pending.fetch_sub(1, Ordering::Relaxed);
        self.of = other;
    }

    /// Counts its end, and the model's own batches.
    pub(crate) fn end(mut self, outcome: Result<(&InferenceAnswer, CacheUse, u64), &ServiceError>) {
        self.over = true;
        match outcome {
            Ok((answer, cache, batches)) => {
                self.of
                    .answered(self.began.elapsed(), answer, cache, batches);
            }
            Err(error) => self.of.failed(self.began.elapsed(), error.kind()),
        }
    }
}

impl Drop for RequestTally {
    fn drop(&mut self) {
        if !self.over {
            self.of.failed(self.began.elapsed(), ErrorKind::Cancelled);
        }
        self.of.pending.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The tallies of all versions of models that were requested or described.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    by_model: SharedLeaf<BTreeMap<(String, String), Arc<ModelTally>>>,
}

impl Tallies {
    /// Returns the tally of a served version of a model.
    pub(crate) fn tally_of(&self, model: &ModelDescription) -> Arc<ModelTally> {
        let known = self.by_model.read();
        let key =
            |(name, version): &(String, String)| *name == model.name && *version == model.version;
        if let Some((_, tally)) = known.iter().find(|(known, _)| key(known)) {
            return Arc::clone(tally);
        }
        drop(known);
        self.new_of(&model.name, &model.version)
    }

    /// Returns the listed models, and others that were requested: ensembles of a task.
    pub(crate) fn completed(
        &self,
        listed: impl Iterator<Item = ModelId>,
    ) -> std::vec::IntoIter<ModelId> {
        let mut all: Vec<ModelId> = listed.collect();
        for (name, version) in self.by_model.read().keys() {
            let requested = ModelId::new(name, version);
            if !all.contains(&requested) {
                all.push(requested);
            }
        }
        all.into_iter()
    }

    fn new_of(&self, name: &str, version: &str) -> Arc<ModelTally> {
        let key = (name.to_owned(), version.to_owned());
        Arc::clone(self.by_model.write().entry(key).or_default())
    }

    /// Counts the runs of an answered request's steps for their models, and for the ensembles that
    /// contain them. Returns the request's own batches: those that it started, or one if it is not
    /// a single model.
    pub(crate) fn count_runs(&self, model: &ModelDescription, runs: &[StepRun]) -> u64 {
        for inner in &model.inner {
            let own = runs.iter().filter(|run| inner.steps.contains(&run.step));
            if own.clone().next().is_some() {
                let tally = self.of_other(&inner.model);
                tally.ran_within(own, inner.one_sample);
            }
        }
        self.count_steps(model, runs).unwrap_or(1)
    }

    /// Counts the runs for the models of their steps. Returns the model's own batches, or `None` if
    /// it is not a single model.
    fn count_steps(&self, model: &ModelDescription, runs: &[StepRun]) -> Option<u64> {
        let mut own = None;
        let tally = self.tally_of(model);
        for (number, step) in model.steps.iter().enumerate() {
            let of_step = runs.iter().filter(|run| run.step.get() == number);
            match &step.model {
                None => {
                    tally.batches.count(of_step, model.one_sample);
                }
                Some(doer) if model.is(doer) => {
                    own = Some(tally.batches.count(of_step, model.one_sample))
                }
                Some(doer) => {
                    if let Some(last) = of_step.clone().next_back() {
                        self.of_other(doer).ran(last, of_step, step.one_sample);
                    }
                }
            }
        }
        own
    }

    fn of_other(&self, model: &ModelId) -> Arc<ModelTally> {
        let version = model.version.as_deref().unwrap_or_default();
        let is = |key: &(String, String)| key.0 == model.name && key.1 == version;
        let known = self.by_model.read();
        let found = known.iter().find(|(known, _)| is(known));
        if let Some((_, tally)) = found {
            return Arc::clone(tally);
        }
        drop(known);
        self.new_of(&model.name, version)
    }

    /// Returns the statistics of a version of a model.
    pub(crate) fn read(&self, model: &ModelDescription) -> ModelStatistics {
        self.tally_of(model).read(&model.name, &model.version)
    }
}

impl RunCounter for Tallies {
    /// Counts as Triton does: a model that ran its step was executed, even if the request failed.
    fn count(&self, model: &ModelDescription, runs: &[StepRun]) {
        if let Some(batches) = self.count_steps(model, runs) {
            let executions = &self.tally_of(model).executions;
            executions.fetch_add(batches, Ordering::Relaxed);
        }
    }
}
