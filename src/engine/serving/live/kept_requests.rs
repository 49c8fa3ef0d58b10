//! Keeps the slowest and the failed requests of an engine, with names.

use std::time::Duration;

use divisi_model::metrics::{LastRun, RequestRecord};

use super::promise::Failure;
use super::request::{Accounting, LiveFinished};
use super::state::EngineState;

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
            self.counters.recent.failed(record);
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
            batches: done.batches.numbers().to_vec(),
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
