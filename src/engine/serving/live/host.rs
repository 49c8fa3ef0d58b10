//! The [`DriverHost`] of the engine.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::serving::batch::{PartKey, Range};
use crate::serving::core::{Core, Stamps, Verdict, batch_spans};
use crate::serving::events::{EngineEvent, WorkerOutcome};
use crate::serving::scheduler::WorkerSpec;
use divisi_model::dataflow::RowSet;
use divisi_model::ensemble::PolicyKind;
use divisi_model::trace::Span;
use divisi_runtime::device::DeviceIndex;

use super::drivers::{BatchError, Completed, DriverHost, DriverTurn, LossCause};
use super::factory::BuildError;
use super::promise::{Failure, RulePanicked};
use super::request::{LiveBatch, LiveNext, Payload};
use super::state::{EngineState, Loss};

/// The digits of a batch's number below those of its engine.
const BATCH_DIGITS: u32 = 48;

impl DriverHost for EngineState {
    fn now(&self) -> Duration {
        self.now()
    }

    fn time_of(&self, at: Instant) -> Duration {
        self.time_of(at)
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping()
    }

    fn policy(&self) -> PolicyKind {
        self.core().policy()
    }

    fn emit(&self, event: EngineEvent) {
        self.emit(event);
    }

    fn next(&self, device: DeviceIndex) -> LiveNext {
        let (next, woken) = {
            let (mut core, now) = (self.core(), self.now());
            (core.next(now, device), core.wake_others(now))
        };
        self.poke(&woken);
        next
    }

    fn turn(&self, device: DeviceIndex, place: &mut dyn FnMut(&DriverTurn<'_>)) -> LiveNext {
        let (next, woken) = {
            let (mut core, now) = (self.core(), self.now());
            let next = core.next(now, device);
            let woken = core.wake_others(now);
            let departed = core.take_departed(device);
            place(&DriverTurn::new(&core, &next, &departed));
            (next, woken)
        };
        self.poke(&woken);
        next
    }

    fn departed(&self, device: DeviceIndex, free: &mut dyn FnMut(&[PartKey])) {
        let mut core = self.core();
        let departed = core.take_departed(device);
        if !departed.is_empty() {
            free(&departed);
        }
    }

    fn copied(&self, device: DeviceIndex, part: PartKey, at: Duration, span: Option<Span>) {
        self.core().copied(at, device, part);
        if let Some(span) = span {
            self.spans[device].push(&[span]);
        }
    }

    fn begin_folding(&self, batch: &LiveBatch) -> bool {
        self.core().fold(batch)
    }

    fn finish(&self, batch: &LiveBatch, stamps: &Stamps, at: Duration) -> Completed {
        self.note_batch(batch, stamps, at);
        let lacking = lacking(batch);
        let (owed, woken) = {
            let mut core = self.core();
            tell_lacking(&mut core, &lacking);
            (core.finish(at, batch, *stamps), core.wake_followers(at))
        };
        self.poke(&woken);
        Completed {
            owed,
            at,
            goes_on: false,
        }
    }

    fn finish_and_wake(&self, batch: &LiveBatch, stamps: &Stamps, at: Duration) -> Completed {
        self.note_batch(batch, stamps, at);
        let lacking = lacking(batch);
        let (owed, mut woken) = {
            let mut core = self.core();
            tell_lacking(&mut core, &lacking);
            (core.finish(at, batch, *stamps), core.wake(at))
        };
        let here = woken.iter().position(|d| *d == batch.device);
        let goes_on = here.map(|index| woken.swap_remove(index)).is_some();
        self.poke(&woken);
        Completed { owed, at, goes_on }
    }

    fn answer(&self, batch: &LiveBatch, stamps: &Stamps, completed: Completed) {
        let spans: Vec<Span> = batch_spans(batch, stamps, completed.at).collect();
        self.spans[batch.device].push(&spans);
        self.deliver(completed.owed);
        self.run_host_steps();
    }

    fn not_folded(&self, batch: &LiveBatch, why: &RulePanicked) {
        self.spoil(batch, why);
    }

    fn worker_failed(self: Arc<Self>, batch: &LiveBatch, why: &BatchError) {
        let member = &self.ensemble.members[batch.member].name;
        let device = &self.devices.get(batch.device).name;
        let text = format!("worker `{member}` on `{device}`: {why}");
        let failure = Failure::Worker(text.clone());
        for placed in &batch.ranges {
            placed.payload.note_fault(&failure);
        }
        let (spec, (verdict, requests)) = {
            let mut core = self.core();
            (core.spec(batch.worker), core.panicked(self.now(), batch))
        };
        // Other workers may need the shared data, and the rebuilt worker too.
        let _kept = spec.and_then(|spec| self.networks.factory.hold(spec.network()));
        self.remove_worker(batch.device, batch.worker);
        self.deliver_failures(requests, &failure);
        // Some requests may be complete without it, before their entry is closed.
        self.run_host_steps();
        let outcome = match (verdict, spec) {
            (Verdict::Restart, Some(spec)) => restart(&self, spec, &text),
            // It left in the meantime.
            (Verdict::Restart, None) => WorkerOutcome::Leaving,
            (Verdict::Retire, _) => WorkerOutcome::Retired,
            (Verdict::Gone, _) => WorkerOutcome::Leaving,
        };
        self.emit(EngineEvent::WorkerFailed {
            worker: batch.worker,
            member: member.clone(),
            device: device.clone(),
            reason: why.to_string(),
            outcome,
        });
        self.close_if_orphaned();
        self.wake();
    }

    fn lost(&self, device: DeviceIndex, cause: LossCause, close: &mut dyn FnMut()) {
        let told = match &cause {
            LossCause::Failed(reason) => Some(Loss {
                device,
                reason: reason.clone(),
            }),
            LossCause::TakenAway(_) => None,
        };
        let listener = told.as_ref().and_then(|loss| self.losses.add(loss));
        {
            let mut core = self.core();
            if listener.is_some() {
                // The door stays open, because the listener will move the workers.
                core.set_reloading(true);
            }
            core.lose_device(device);
        }
        close();
        self.emit(EngineEvent::DeviceLost {
            device: self.devices.get(device).name.clone(),
            reason: cause.reason().map(ToString::to_string),
        });
        self.poke(&[device]);
        self.wake();
        match (told, listener) {
            (Some(loss), Some(tell)) => tell(loss),
            (Some(_), None) => self.close_if_orphaned(),
            // The caller that removed it moves its workers.
            (None, _) => {}
        }
    }
}

/// Returns the rows of a batch without a result that their requests can do without.
fn lacking(batch: &LiveBatch) -> Vec<(Range, RowSet)> {
    let ranges = batch.ranges.iter();
    let lacking = ranges.filter_map(|placed| {
        let rows = placed.payload.lacking(&placed.range)?;
        Some((placed.range, rows))
    });
    lacking.collect()
}

fn tell_lacking(core: &mut Core<Payload>, lacking: &[(Range, RowSet)]) {
    for (range, rows) in lacking {
        core.lacks(range.request, range.part, range.step, rows);
    }
}

/// Rebuilds a worker under the same number, and returns the outcome.
fn restart(state: &Arc<EngineState>, spec: WorkerSpec, text: &str) -> WorkerOutcome {
    if let Err(reason) = state.build_worker(spec) {
        // Its other lanes may still run batches.
        let stuck = state.core().remove_worker(state.now(), spec.id);
        state.deliver_failures(stuck, &Failure::Worker(text.to_owned()));
        let reason = reason.to_string();
        return WorkerOutcome::NotRestarted { reason };
    }
    if state.core().rebuilt(spec.id) {
        state.counters.restarts.fetch_add(1, Ordering::Relaxed);
        return WorkerOutcome::Restarted;
    }
    state.remove_worker(spec.device, spec.id);
    WorkerOutcome::Leaving
}

impl EngineState {
    /// Returns this engine as a [`DriverHost`].
    pub(super) fn host(self: &Arc<Self>) -> Arc<dyn DriverHost> {
        Arc::<EngineState>::clone(self)
    }

    /// Records a batch that ended at `end` in the logs of its requests.
    fn note_batch(&self, batch: &LiveBatch, stamps: &Stamps, end: Duration) {
        let unique = self.serial << BATCH_DIGITS | batch.id.0;
        for (nth, placed) in batch.ranges.iter().enumerate() {
            if let Some(log) = &placed.payload.runs {
                log.of_batch(unique, batch, nth == 0, placed, stamps, end);
            }
        }
    }

    /// Builds a worker. It gets no work until the core knows it.
    ///
    /// # Errors
    /// Its device cannot hold it, or is lost.
    pub(super) fn build_worker(self: &Arc<Self>, spec: WorkerSpec) -> Result<(), BuildError> {
        Arc::clone(&self.drivers[spec.device]).build(&self.host(), spec)
    }
}
