//! Runs the host steps of a pipeline, without a lock, on the thread that made the last input of the
//! step.
//!
//! That is the thread of a device, the timer thread when a quorum stops waiting, or the submitting
//! thread.

use crate::serving::core::HostWork;
use divisi_model::codes::Coded;
use divisi_model::dataflow::RowSet;

use super::graph::FlawedRows;
use super::promise::{Failure, caught};
use super::request::Payload;
use super::state::EngineState;

impl EngineState {
    /// Runs the steps on the host that are ready, and those that become ready by them. The caller
    /// must not hold a lock.
    pub(super) fn run_host_steps(&self) {
        if !self.has_steps {
            return;
        }
        loop {
            let ready = self.core().take_host_work();
            if ready.is_empty() {
                return;
            }
            for mut work in ready {
                work.started = self.now();
                self.run_host_step(&work);
            }
        }
    }

    fn run_host_step(&self, work: &HostWork<Payload>) {
        let rows = self.made(work).unwrap_or_else(|failed| {
            self.failed(work, &failed);
            failed.sound
        });
        if let Some(log) = &work.payload.runs {
            log.of_host(work, self.now());
        }
        let (owed, woken) = {
            let (mut core, now) = (self.core(), self.now());
            (core.host_step_done(now, work, rows), core.wake(now))
        };
        self.poke(&woken);
        self.deliver(owed);
    }

    /// Handles a failed step. Fails its request, unless that can do without the step.
    fn failed(&self, work: &HostWork<Payload>, failed: &FailedStep) {
        let why = &failed.why;
        work.payload.note_fault(why);
        work.payload.log_failure(work.step, why.code());
        let lacking = work.rows.difference(work.samples, &failed.sound);
        let requests = {
            let (mut core, now) = (self.core(), self.now());
            let is_spared = core.lacks(work.request, work.part, work.step, &lacking);
            (!is_spared).then(|| core.fail(now, work.request))
        };
        if let Some(requests) = requests {
            self.deliver_failures(requests, why);
        }
    }

    /// Computes a step. NaN and infinities end here, because otherwise they would become an
    /// ordinary answer.
    fn made(&self, work: &HostWork<Payload>) -> Result<RowSet, FailedStep> {
        let Some(graph) = &work.payload.graph else {
            return Ok(RowSet::empty());
        };
        if let Some(failure) = self.spoilt(&work.payload) {
            return Err(FailedStep::whole(failure));
        }
        let failure = |reason: String| {
            let pipeline = work.payload.served.ensemble.pipeline.as_ref();
            let step = pipeline.map(|pipeline| pipeline.step(work.step));
            let step = step.map(|step| step.name.clone()).unwrap_or_default();
            Failure::Step { step, reason }
        };
        match caught(|| graph.run(work.payload.samples(), work)) {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(FlawedRows { sound, flawed })) => {
                let samples = if flawed == 1 { "sample" } else { "samples" };
                let why = failure(format!("NaN or infinities for {flawed} {samples}"));
                Err(FailedStep { why, sound })
            }
            Err(panic) => Err(FailedStep::whole(failure(panic.to_string()))),
        }
    }
}

/// A step on the host that failed for some rows.
struct FailedStep {
    why: Failure,
    /// The rows without the failure.
    sound: RowSet,
}

impl FailedStep {
    /// Creates a failure of all rows.
    fn whole(why: Failure) -> Self {
        let sound = RowSet::empty();
        FailedStep { why, sound }
    }
}
