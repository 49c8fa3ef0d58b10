//! The record of the slowest and of failed requests of an engine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use divisi_model::metrics::{LastRun, RequestLog, RequestRecord, RequestsView};

use super::locks::Leaf;
use super::promise::Failure;
use super::request::{Accounting, LiveFinished};
use super::state::EngineState;

/// The recent requests. A fast request costs two comparisons and takes no lock.
#[derive(Default)]
pub(crate) struct RecentRequests {
    log: Leaf<RequestLog>,
    /// The latency that a request must exceed to be kept, in nanoseconds.
    least: AtomicU64,
    /// The end of the time for which this holds, in nanoseconds since the engine's start.
    until: AtomicU64,
}

impl RecentRequests {
    /// Returns whether an answered request is slow enough to be kept.
    fn is_slow(&self, now: Duration, latency: Duration) -> bool {
        nanos(latency) > self.least.load(Ordering::Relaxed)
            || nanos(now) >= self.until.load(Ordering::Relaxed)
    }

    fn answered(&self, record: RequestRecord) {
        let mut log = self.log.lock();
        log.answered(record);
        let (least, until) = log.threshold();
        self.least.store(nanos(least), Ordering::Relaxed);
        self.until.store(nanos(until), Ordering::Relaxed);
    }

    /// Returns the requests as of `now`.
    pub(super) fn view(&self, now: Duration) -> RequestsView {
        self.log.lock().view(now)
    }
}

/// Faster than [`Duration::as_nanos`], which computes in 128 bits.
fn nanos(time: Duration) -> u64 {
    let seconds = time.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(u64::from(time.subsec_nanos()))
}

impl EngineState {
    /// Keeps an answered request if it is slow.
    pub(super) fn note_slow(&self, now: Duration, done: &LiveFinished) {
        let recent = &self.counters.recent;
        if recent.is_slow(now, done.latency) && done.payload.accounting != Accounting::Apart {
            recent.answered(self.record_of(now, done));
        }
    }

    /// Keeps a failed request.
    pub(super) fn keep_failed(&self, done: &LiveFinished, why: &Failure) {
        let is_clients = done.payload.accounting != Accounting::Apart;
        if is_clients && *why != Failure::Cancelled {
            let record = self.record_of(self.now(), done).failed(&why.to_string());
            self.counters.recent.log.lock().failed(record);
        }
    }

    fn record_of(&self, now: Duration, done: &LiveFinished) -> RequestRecord {
        let data = &done.payload;
        let record = RequestRecord {
            number: done.request.0,
            ended: now,
            latency: done.latency,
            split: done.split,
            received: None,
            samples: done.samples,
            sender: None,
            id: String::new(),
            model: data.served.model(),
            last: self.last_run(done),
            failure: None,
        };
        record.sent_by(data.origin())
    }

    /// Returns the run that completed a request, with names.
    fn last_run(&self, done: &LiveFinished) -> Option<LastRun> {
        let run = done.last?;
        let ensemble = &done.payload.served.ensemble;
        let pipeline = ensemble.pipeline.as_ref();
        let mut steps = pipeline.into_iter().flat_map(|pipeline| pipeline.steps());
        let step = steps.nth(run.step.get()).map(|step| step.name.clone());
        let member = run.batch.map(|(_, _, member)| member);
        let member = member.map(|member| self.ensemble.members[member].name.clone());
        Some(LastRun {
            step: step.or(member).unwrap_or_default(),
            place: run.batch.map(|(_, device, member)| (device, member)),
            batch: run.batch.map(|(batch, ..)| batch.0),
        })
    }
}
