//! Requests before and after admission, as held by callers: staged, then pending until their
//! outcome.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar};
use std::time::Duration;

use crate::serving::answer::Part;
use crate::serving::batch::RequestKey;
use crate::serving::core::Arrival;
use crate::serving::door::Refused;
use crate::serving::flaws::Detail;
use divisi_model::ensemble::SampleValues;

use super::drivers::spin;
use super::graph::PipelineRows;
use super::locks::Leaf;
use super::promise::{Failure, Outcome, Promise, Reply};
use super::request::{Request, RequestData};
use super::run_log::RunLog;
use super::samples::HeldSamples;
use super::served::ServedEnsemble;
use super::state::EngineState;

/// A request under way. Dropping it before the answer cancels it.
pub struct Pending {
    slot: Arc<OutcomeSlot>,
    state: Arc<EngineState>,
    request: RequestKey,
    over: bool,
}

impl Pending {
    /// Waits for the outcome.
    pub fn wait(mut self) -> Outcome {
        self.over = true;
        self.slot.take()
    }

    /// Waits for the outcome for at most `time`. The request continues after that.
    pub fn wait_within(&mut self, time: Duration) -> Option<Outcome> {
        let outcome = self.slot.take_within(time);
        self.over |= outcome.is_some();
        outcome
    }

    /// Cancels the request. Only its running batch is still computed.
    pub fn cancel(self) {}
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.over {
            self.state.fail(self.request, &Failure::Cancelled);
        }
    }
}

/// A request under way whose outcome goes to a reply. Dropping it before
/// [`SubmittedRequest::is_over`] cancels it.
pub struct SubmittedRequest {
    state: Arc<EngineState>,
    request: Option<RequestKey>,
}

impl SubmittedRequest {
    /// Sends a request.
    pub(super) fn new(
        state: &Arc<EngineState>,
        request: Request<'_>,
        reply: Reply,
    ) -> Result<Self, Refused> {
        Ok(SubmittedRequest {
            request: Some(state.submit(request, reply)?),
            state: Arc::clone(state),
        })
    }

    /// Marks the outcome as known, so that nothing is cancelled.
    pub fn is_over(mut self) {
        self.request = None;
    }
}

impl Drop for SubmittedRequest {
    fn drop(&mut self) {
        if let Some(request) = self.request {
            self.state.fail(request, &Failure::Cancelled);
        }
    }
}

/// A request whose samples are in the pool but not queued yet. Dropping it frees its slots.
pub struct Staged {
    slot: Arc<OutcomeSlot>,
    state: Arc<EngineState>,
    request: RequestKey,
    released: bool,
}

impl Staged {
    /// Admits a request and writes its samples to the pool.
    pub(super) fn new(state: &Arc<EngineState>, request: Request<'_>) -> Result<Self, Refused> {
        let slot = Arc::<OutcomeSlot>::default();
        let reply = Arc::clone(&slot);
        let put = move |outcome| reply.put(outcome);
        Ok(Staged {
            slot,
            request: state.stage(request, Box::new(put))?,
            state: Arc::clone(state),
            released: false,
        })
    }

    /// Queues the request at its members.
    pub fn release(mut self) -> Pending {
        self.released = true;
        self.state.release(self.request);
        Pending {
            slot: Arc::clone(&self.slot),
            state: Arc::clone(&self.state),
            request: self.request,
            over: false,
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.released {
            let abandoned = self.state.core().abandon(self.request);
            if let Some(request) = abandoned {
                request.withdraw();
            }
        }
    }
}

/// The outcome for a waiting thread.
#[derive(Default)]
struct OutcomeSlot {
    ready: AtomicBool,
    outcome: Leaf<Option<Outcome>>,
    changed: Condvar,
}

impl OutcomeSlot {
    fn put(&self, outcome: Outcome) {
        *self.outcome.lock() = Some(outcome);
        self.ready.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    fn take(&self) -> Outcome {
        loop {
            if let Some(outcome) = self.take_within(Duration::from_secs(3600)) {
                return outcome;
            }
        }
    }

    fn take_within(&self, time: Duration) -> Option<Outcome> {
        spin(|| self.ready.load(Ordering::Acquire));
        let outcome = self.outcome.lock();
        let mut waited =
            outcome.wait_timeout_while(&self.changed, time, |outcome| outcome.is_none());
        waited.take()
    }
}

impl EngineState {
    /// Admits and queues a request. `reply` receives its outcome exactly once.
    pub(super) fn submit(&self, request: Request<'_>, reply: Reply) -> Result<RequestKey, Refused> {
        let admitted = self.stage(request, reply)?;
        self.release(admitted);
        Ok(admitted)
    }

    /// Admits a request and writes its samples to the pool.
    fn stage(&self, request: Request<'_>, reply: Reply) -> Result<RequestKey, Refused> {
        let served = self.served(request.pipeline);
        let served =
            served.ok_or_else(|| Refused::Closed("no model with this number is served".into()))?;
        let accounting = request.accounting;
        let staged = self.stage_for(served, request, reply);
        staged.inspect_err(|refused| self.record_refusal(served, refused, accounting))
    }

    fn stage_for(
        &self,
        served: &Arc<ServedEnsemble>,
        request: Request<'_>,
        reply: Reply,
    ) -> Result<RequestKey, Refused> {
        let ensemble = &served.ensemble;
        let width = ensemble.input.shape.elements();
        let pipeline = ensemble.pipeline.as_ref();
        let checked = check(request.values, width)
            .and_then(|()| check_values(request.values, width, served))
            .and_then(|()| check_outputs(request.outputs, pipeline.map(|p| p.outputs().len())));
        if let Err(refused) = checked {
            self.core().door().count_refusal();
            return Err(refused);
        }
        let now = self.now();
        let deadline = request.deadline.map(|within| now.saturating_add(within));
        let samples = request.values.len() / width;
        let rule = served.rule();
        let tokens_of = |sample: usize| {
            let row = request.values.get(sample * width..(sample + 1) * width)?;
            ensemble.token_count(&row.floats())
        };
        let sampler = &served.sampler;
        let member_sample = sampler.begin_sample(now, samples, request.targets, tokens_of);
        let arrived = now.saturating_sub(request.late);
        let kept = match request.detail {
            Detail::Members => ensemble.members.len(),
            Detail::Scores | Detail::Marked => 0,
        };
        let detail = request.detail;
        let arrival = Arrival {
            pipeline: request.pipeline,
            outputs: pipeline.and_then(|p| p.steps_of(request.outputs)),
            priority: request.priority,
            patience: request.patience,
            due: request.due.map(|within| arrived.saturating_add(within)),
            ..Arrival::with_samples(samples).until(deadline)
        };
        let mut stays = false;
        let admission = self.core().admit(arrived, arrival, |slices| {
            let parts = slices.iter().map(|s| Part::keeping(s.len, kept)).collect();
            let graph = pipeline.map(|p| PipelineRows::new(p, request.outputs, slices));
            let member_sample = member_sample.map(|sample| sample.within(slices[0].len));
            let promises = &self.promises;
            let data = RequestData::new(
                Arc::clone(served),
                parts,
                rule,
                graph,
                member_sample,
                detail,
                Promise::new(reply, promises),
            );
            let runs = request.runs.map(|listener| RunLog::new(arrived, listener));
            let held = HeldSamples::hold(request.memory, &served.storage, slices);
            stays = held.is_some();
            let data = data.accounted(request.accounting).sent_by(request.origin);
            Arc::new(data.logging(runs).holding(held))
        })?;
        if !stays {
            served.storage.write(&admission.parts, request.values);
        }
        Ok(admission.request)
    }

    /// Queues a staged request and wakes devices for it.
    fn release(&self, request: RequestKey) {
        let now = self.now();
        let (woken, timer) = {
            let mut core = self.core();
            core.enqueue(now, request);
            (core.wake(now), core.next_timer().is_some())
        };
        self.poke(&woken);
        if timer {
            self.poke_timer();
        }
        self.run_host_steps();
    }

    /// Fails a request with `failure`.
    fn fail(&self, request: RequestKey, failure: &Failure) {
        let (failed, woken) = {
            let (mut core, now) = (self.core(), self.now());
            (core.fail(now, request), core.wake(now))
        };
        // Other samples may take the place of those copied ahead for it.
        self.poke(&woken);
        self.deliver_failures(failed, failure);
    }
}

/// Checks that the values form whole samples.
fn check(values: SampleValues<'_>, width: usize) -> Result<(), Refused> {
    if values.is_empty() {
        return Err(Refused::Empty);
    }
    if !values.len().is_multiple_of(width) {
        return Err(Refused::Shape {
            expected: width,
            found: values.len(),
        });
    }
    Ok(())
}

/// Checks that values are finite if the entry requires it, and that ids have rows.
fn check_values(
    values: SampleValues<'_>,
    width: usize,
    served: &ServedEnsemble,
) -> Result<(), Refused> {
    let finite = !served.non_finite;
    if let Some(at) = finite.then(|| values.first_not_finite()).flatten() {
        return Err(Refused::NotFinite {
            sample: at / width,
            value: at % width,
        });
    }
    let rows = &served.ensemble.row_check;
    match rows.is_empty() {
        true => Ok(()),
        false => Ok(rows.check(&values.floats())?),
    }
}

/// Checks the requested outputs of a pipeline with this number of outputs. An ensemble has one.
fn check_outputs(wanted: &[usize], outputs: Option<usize>) -> Result<(), Refused> {
    let outputs = outputs.unwrap_or(1);
    match wanted.iter().find(|output| **output >= outputs) {
        Some(&output) => Err(Refused::Output { output, outputs }),
        None => Ok(()),
    }
}
