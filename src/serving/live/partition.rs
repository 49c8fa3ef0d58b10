//! A device's thread: runs its workers' batches one at a time, and restarts them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::compute::ComputeError;
use crate::device::{DeviceKind, pin_current_thread};
use crate::lock::lock;
use crate::serving::batch::{Batch, Transfer};
use crate::serving::core::{Next, Stamps};
use crate::serving::scheduler::WorkerSpec;
use crate::serving::spans::batch_spans;
use crate::serving::supervision::Verdict;
use crate::trace::Span;

use super::client::{Failure, RequestData, spin};
use super::shared::EngineState;
use super::worker::{Timing, build, panic_text, since};

type LiveBatch = Batch<Arc<RequestData>>;

/// Serves until the engine stops.
pub(super) fn run(shared: &Arc<EngineState>, device: usize) {
    if let DeviceKind::Cpu { cores } = &shared.devices.get(device).kind {
        pin_current_thread(cores);
    }
    while !shared.is_stopping() {
        match shared.next(device) {
            Next::Run(batch) => run_batch(shared, &batch),
            // Nothing is copied ahead where devices compute in host memory.
            Next::Copy(transfers) => copied(shared, device, &transfers),
            Next::Sleep(until) => sleep(shared, device, until),
        }
    }
}

fn copied(shared: &EngineState, device: usize, transfers: &[Transfer]) {
    let mut core = shared.core();
    for transfer in transfers {
        core.copied(shared.now(), device, transfer.part);
    }
}

/// Sleeps until poked, or `until`.
pub(super) fn sleep(shared: &EngineState, device: usize, until: Option<Duration>) {
    let poked = &shared.lanes[device].poked;
    if !spin(|| poked.load(Ordering::Acquire)) {
        loop {
            let left = until.map(|at| at.saturating_sub(shared.now()));
            let over = left.is_some_and(|l| l.is_zero());
            if over || shared.is_stopping() || poked.load(Ordering::Acquire) {
                break;
            }
            match left {
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
        }
    }
    poked.store(false, Ordering::Release);
}

fn run_batch(shared: &Arc<EngineState>, batch: &LiveBatch) {
    let start = Instant::now();
    let Some(body) = shared.body(batch.worker) else {
        return failed(shared, batch, "its worker was not there");
    };
    // A network that panics must not take the device with it. Its own state may be
    // broken afterwards, so the worker is thrown away and built anew.
    let ran = catch_unwind(AssertUnwindSafe(|| lock(&body).run(batch, &shared.storage)));
    match ran {
        Ok(Ok(timing)) => match &timing.folded {
            Ok(()) => finish(shared, batch, start, &timing),
            Err(why) => shared.spoil(batch, why),
        },
        Ok(Err(error)) => failed(shared, batch, &describe(&error)),
        Err(panic) => failed(shared, batch, &panic_text(panic.as_ref())),
    }
}

fn finish(shared: &EngineState, batch: &LiveBatch, start: Instant, timing: &Timing) {
    let end = Instant::now();
    let at = |instant| since(shared.start, instant);
    let stamps = Stamps {
        started: at(start),
        copied: at(timing.copied),
        computed: at(timing.computed),
        returned: at(timing.computed),
        busy: end - start,
        expected: None,
    };
    let finished = shared.core().finish(at(end), batch, stamps);
    let spans: Vec<Span> = batch_spans(batch, &stamps, at(end)).collect();
    shared.lanes[batch.device].spans.push(&spans);
    shared.deliver(finished);
}

/// The batch's requests fail at once; then the worker is built anew, or retired.
pub(super) fn failed(shared: &Arc<EngineState>, batch: &LiveBatch, why: &str) {
    let member = &shared.ensemble.members[batch.member].name;
    let device = &shared.devices.get(batch.device).name;
    let text = format!("worker `{member}` on `{device}`: {why}");
    let (verdict, requests) = shared.core().panicked(shared.now(), batch);
    // Others may need what it shared with them, and so may the one that takes its place.
    let _kept = shared.factory.hold(batch.member);
    shared.forget(batch.worker);
    shared.deliver_failures(requests, &Failure::Worker(text.clone()));
    shared.notice(match verdict {
        Verdict::Restart => restart(shared, batch, &text),
        Verdict::Retire => format!("error: {text}; it is retired"),
        Verdict::Gone => format!("warning: {text}; it was leaving"),
    });
    shared.close_if_orphaned();
    shared.wake();
}

/// Builds a worker again under its own number; gives what an operator should read.
fn restart(shared: &Arc<EngineState>, batch: &LiveBatch, text: &str) -> String {
    let spec = WorkerSpec {
        id: batch.worker,
        device: batch.device,
        member: batch.member,
        size: batch.size,
    };
    if let Err(reason) = build(shared, spec) {
        // Its other lanes may run batches still, where it has any.
        let stuck = shared.core().remove_worker(shared.now(), spec.id);
        shared.deliver_failures(stuck, &Failure::Worker(text.to_owned()));
        return format!("error: {text}; it did not start again and is retired: {reason}");
    }
    if shared.core().rebuilt(spec.id) {
        shared.watched.restarts.fetch_add(1, Ordering::Relaxed);
        return format!("warning: {text}; it was restarted");
    }
    shared.forget(spec.id);
    format!("warning: {text}; it was leaving")
}

fn describe(error: &ComputeError) -> String {
    format!("failed: {error}")
}

/// Deadlines and segments: sleeps until one is due.
pub(super) fn run_timer(shared: &EngineState) {
    while !shared.is_stopping() {
        let now = shared.now();
        let (late, woken, next) = {
            let mut core = shared.core();
            let late = core.tick(now);
            (late, core.wake(now), core.next_timer())
        };
        shared.poke(&woken);
        shared.deliver_failures(late, &Failure::Deadline);
        match next {
            Some(at) => thread::park_timeout(at.saturating_sub(shared.now())),
            None => thread::park(),
        }
    }
}
