//! The steps of a pipeline that the host runs: by the thread that made the last of what they read.

use crate::dataflow::RowSet;
use crate::serving::core::HostWork;

use super::promise::{Failure, Panicked, caught};
use super::request::Payload;
use super::state::EngineState;

impl EngineState {
    /// Runs the host's steps that are ready, and those that become ready by them. No lock may be
    /// held.
    pub(super) fn run_host_steps(&self) {
        if self.ensemble.pipeline.is_none() {
            return;
        }
        loop {
            let ready = self.core().take_host_work();
            if ready.is_empty() {
                return;
            }
            for work in ready {
                self.run_host_step(&work);
            }
        }
    }

    fn run_host_step(&self, work: &HostWork<Payload>) {
        let graph = work.payload.graph.as_ref();
        let made = caught(|| graph.map(|graph| graph.run(&self.storage, work)));
        let rows = match made {
            Ok(rows) => rows.unwrap_or_else(RowSet::none),
            Err(panic) => {
                self.fail_step(work, &panic);
                RowSet::none()
            }
        };
        let (owed, woken) = {
            let (mut core, now) = (self.core(), self.now());
            (core.made(now, work, rows), core.wake(now))
        };
        self.poke(&woken);
        self.deliver(owed);
    }

    fn fail_step(&self, work: &HostWork<Payload>, panic: &Panicked) {
        let steps = self.ensemble.pipeline.as_ref().map(|p| p.step(work.step));
        let failure = Failure::Step {
            step: steps.map(|step| step.name.clone()).unwrap_or_default(),
            reason: panic.to_string(),
        };
        let failed = self.core().fail(self.now(), work.request);
        self.deliver_failures(failed, &failure);
    }
}
