//! Requests under way: admitted, queued step by step, and over when every output is complete.

use std::ops;
use std::time::Duration;

use crate::serving::batch::{Batch, Range, RequestKey, Slice};
use crate::serving::door::Refused;
use crate::serving::order::SampleOrder;
use divisi_model::dataflow::{Dataflow, PartProgress, RowSet, StepIndex, StepReport, StepWork};
use divisi_model::metrics::LatencySplit;

use super::Core;
use super::entry::{Admission, Arrival, HostWork, PartEntry, RequestEntry, RequestTimers};
use super::follow::Following;
use super::owed::{CompletingRun, Finished, Owed, RequestBatches};
use super::steps::{self, StepEnd};

impl<T: Clone> Core<T> {
    /// Admits a request. The caller writes its samples into the slots of the admission, then calls
    /// [`Core::enqueue`].
    ///
    /// # Errors
    /// Returns [`Refused`] if the request is not admitted.
    pub fn admit(
        &mut self,
        now: Duration,
        arrival: Arrival,
        payload: impl FnOnce(&[Slice]) -> T,
    ) -> Result<Admission, Refused> {
        let served = &mut self.pipelines[arrival.pipeline.0];
        let samples = arrival.samples;
        let (capacity, free) = (served.pool.capacity(), served.pool.available());
        let turn = served.turn(&arrival);
        self.door
            .admit(samples, capacity, free, || served.ahead(turn))?;
        if let Some(reason) = &served.closed {
            let refused = Refused::Closed(reason.clone());
            self.door.count_refusal();
            return Err(refused);
        }
        let queue = served.queue.as_mut();
        if let Some(Err(refused)) = queue.map(|queue| queue.admit(arrival.priority)) {
            self.door.count_refusal();
            return Err(refused);
        }
        let full = Refused::Full { samples, free };
        let parts = served.pool.allocate(samples).ok_or(full)?;
        let wanted = match &arrival.outputs {
            Some(outputs) => served.flow.steps_for(outputs),
            None => served.flow.all_steps().clone(),
        };
        let request = RequestKey(self.next_request);
        self.next_request += 1;
        let waiting = served.queue.as_mut();
        let waiting = waiting.map(|queue| queue.enter(now, arrival.priority, arrival.patience));
        let entry = RequestEntry {
            payload: payload(&parts),
            pipeline: arrival.pipeline,
            wanted,
            parts: parts.iter().map(|&slice| PartEntry::new(slice)).collect(),
            samples,
            open: parts.len(),
            held: parts.len(),
            orders: ops::Range::default(),
            waiting,
            submitted: now,
            due: arrival.due,
            turn,
            deadline: arrival.deadline,
            late: Vec::new(),
            batches: RequestBatches::default(),
            begun: false,
            over: false,
        };
        served.waiting += 1;
        served.due.hold(turn, samples);
        self.requests.insert(request, entry);
        self.deadlines
            .extend(arrival.deadline.map(|at| (at, request)));
        let until = waiting.and_then(|waiting| waiting.until);
        self.expiries.extend(until.map(|at| (at, request)));
        self.live += 1;
        Ok(Admission { request, parts })
    }

    /// Queues the first steps of a request whose samples are written.
    pub fn enqueue(&mut self, now: Duration, request: RequestKey) {
        let Some(entry) = self.requests.get_mut(&request) else {
            return;
        };
        if entry.over {
            // The request failed while its samples were being written, so nothing will read them.
            drop(self.abandon(request));
            return;
        }
        // The request is still waiting if its pipeline bounds the wait, because no batch of it can
        // have begun.
        let (urgency, delayed) = entry
            .waiting
            .map_or((0, false), |waiting| (waiting.urgency, waiting.delayed));
        let mut order = SampleOrder::new(urgency, delayed, entry.due, self.next_order);
        self.next_order += entry.samples as u64;
        entry.orders = order..order.plus(entry.samples);
        let flow = &self.pipelines[entry.pipeline.0].flow;
        let submitted = entry.submitted;
        let waits = flow.waits().iter();
        let ends = waits.map(|wait| (submitted.saturating_add(*wait), request));
        self.patience.extend(ends);
        let mut following = Following {
            now,
            flow,
            scheduler: &mut self.scheduler,
            host_work: &mut self.host_work,
            tallies: &mut self.steps[entry.pipeline.0],
        };
        let (admission, report) = (now.saturating_sub(submitted), &mut self.report);
        for part in 0..entry.parts.len() {
            report.clear();
            let place = &mut entry.parts[part];
            let samples = place.slice.len;
            let progress = PartProgress::begin(flow, &entry.wanted, samples, admission, report);
            (place.order, place.progress) = (order, Some(progress));
            order = order.plus(samples);
            following.follow(entry, request, part, report);
            debug_assert!(report.over.is_none(), "every part has something to run");
        }
    }

    /// Records that the samples of a range ran in `batch` from `started` on for `computed`. `split`
    /// holds the parts of their time since they were queued.
    pub(super) fn record_run(
        &mut self,
        now: Duration,
        batch: &Batch<T>,
        range: &Range,
        started: Duration,
        computed: Duration,
        split: impl Fn() -> LatencySplit,
    ) -> Option<Finished<T>> {
        let (request, part, len) = (range.request, range.part, range.len);
        let end = Some(StepEnd {
            step: range.step,
            outstanding: len,
            rows: len,
            made: len,
            waited: started.saturating_sub(range.arrived),
            computed,
            batch: Some((batch.id, batch.device, batch.member)),
        });
        self.advance(now, request, part, end, |part, flow, _, report| {
            part.record_rows(flow, range.step, len, split, report);
        })
    }

    /// Records that the host has made the result of a step for `rows`. Returns the request if it is
    /// complete.
    pub fn host_step_done<P>(
        &mut self,
        now: Duration,
        work: &HostWork<P>,
        rows: RowSet,
    ) -> Owed<T> {
        let mut owed = Owed::new(&self.dropped);
        let (request, part) = (work.request, work.part);
        let end = Some(StepEnd {
            step: work.step,
            outstanding: 1,
            rows: work.rows.count(work.samples),
            made: rows.count(work.samples),
            waited: work.started.saturating_sub(work.arrived),
            computed: now.saturating_sub(work.started),
            batch: None,
        });
        let finished = self.advance(now, request, part, end, |part, flow, total, report| {
            part.record_host_result(flow, work.step, rows, total, report);
        });
        finished.into_iter().for_each(|f| owed.push(f));
        owed
    }

    /// Takes the steps on the host that are ready, in the order in which they became ready.
    pub fn take_host_work(&mut self) -> Vec<HostWork<T>> {
        std::mem::take(&mut self.host_work)
    }

    /// Lets quorums that waited long enough continue without the late steps. Returns the requests
    /// that this completes.
    pub fn lose_patience(&mut self, now: Duration) -> Owed<T> {
        let mut owed = Owed::new(&self.dropped);
        while let Some(&(at, request)) = self.patience.first() {
            if at > now {
                break;
            }
            self.patience.pop_first();
            let parts = self.requests.get(&request).map_or(0, |e| e.parts.len());
            for part in 0..parts {
                let finished =
                    self.advance(now, request, part, None, |part, flow, total, report| {
                        part.lose_patience(flow, total, report);
                    });
                finished.into_iter().for_each(|f| owed.push(f));
            }
        }
        owed
    }

    /// Advances a part by an event that ended some work, and carries out the consequences. Returns
    /// the request if this completes it.
    fn advance(
        &mut self,
        now: Duration,
        request: RequestKey,
        part: usize,
        end: Option<StepEnd>,
        event: impl FnOnce(&mut PartProgress, &Dataflow, Duration, &mut StepReport),
    ) -> Option<Finished<T>> {
        let entry = self.requests.get_mut(&request)?;
        let (report, flow) = (&mut self.report, &self.pipelines[entry.pipeline.0].flow);
        let tallies = &mut self.steps[entry.pipeline.0];
        let place = &mut entry.parts[part];
        let last = end.as_ref().map(|end| CompletingRun {
            step: end.step,
            batch: end.batch,
        });
        if let Some(mut end) = end {
            let batch = end.batch.iter();
            batch.for_each(|(batch, ..)| entry.batches.add(*batch));
            place.outstanding -= end.outstanding;
            let progress = place.progress.as_ref();
            if entry.over || progress.is_some_and(|part| part.missing_rows(end.step) > 0) {
                // A failed step does not determine the number of rows that it passes on.
                end.made = end.rows;
            }
            tallies[end.step.get()].ended(now, &end);
        }
        report.clear();
        if let Some(progress) = place.progress.as_mut().filter(|_| !entry.over) {
            event(progress, flow, now.saturating_sub(entry.submitted), report);
            let mut following = Following {
                now,
                flow,
                scheduler: &mut self.scheduler,
                host_work: &mut self.host_work,
                tallies,
            };
            following.follow(entry, request, part, report);
            let is_run = |step: &StepIndex| matches!(flow.step(*step).work, StepWork::Model { .. });
            self.followed |= report.ready.iter().any(is_run);
            entry.note_late(&report.late);
        }
        if report.unmet {
            return self.fail_unmet(now, request, part);
        }
        let complete = report.over.and_then(|split| {
            entry.open -= 1;
            entry.over |= entry.open == 0;
            let finished = || Finished {
                last,
                ..entry.finished(now, request, split)
            };
            entry.over.then(finished)
        });
        let is_idle = entry.parts[part].outstanding == 0;
        if complete.is_some() {
            let timers = entry.take_timers();
            if let Some(progress) = &entry.parts[part].progress {
                steps::count_chain(&mut self.steps[entry.pipeline.0], progress);
            }
            self.live -= 1;
            self.forget_timers(request, timers);
        }
        if is_idle {
            self.free_part(request, part);
        }
        complete
    }

    /// Removes samples of a finished request from the counters.
    pub(super) fn discard(&mut self, range: &Range) {
        if let Some(entry) = self.requests.get_mut(&range.request) {
            entry.parts[range.part].outstanding -= range.len;
            self.steps[entry.pipeline.0][range.step.get()].gave_up(range.len);
            self.free_part(range.request, range.part);
        }
    }

    /// Frees a part's slots after their last use, and forgets the request with its last part.
    pub(super) fn free_part(&mut self, request: RequestKey, part: usize) {
        let Some(entry) = self.requests.get_mut(&request) else {
            return;
        };
        let place = &mut entry.parts[part];
        let over = entry.over
            || place
                .progress
                .as_ref()
                .is_some_and(PartProgress::is_complete);
        if !over || !place.held || place.outstanding > 0 {
            return;
        }
        place.held = false;
        entry.held -= 1;
        let (slice, held, parts) = (place.slice, entry.held, entry.parts.len());
        let served = &mut self.pipelines[entry.pipeline.0];
        served.release(entry.turn, slice);
        if held == 0 {
            let planes = served.flow.planes();
            self.requests.remove(&request);
            self.scheduler.forget(request, parts, planes);
        }
    }

    pub(super) fn mark_failed(
        &mut self,
        now: Duration,
        request: RequestKey,
    ) -> Option<Finished<T>> {
        let entry = self.requests.get_mut(&request).filter(|e| !e.over)?;
        entry.over = true;
        let finished = entry.finished(now, request, LatencySplit::default());
        let timers = entry.take_timers();
        self.live -= 1;
        self.forget_timers(request, timers);
        Some(finished)
    }

    /// Returns the positions of a request's samples in the order of execution.
    pub(super) fn orders_of(&self, request: RequestKey) -> ops::Range<SampleOrder> {
        let entry = self.requests.get(&request);
        entry.map(|e| e.orders.clone()).unwrap_or_default()
    }

    /// Withdraws a request whose samples were never queued. Returns its payload unless it was
    /// already answered.
    pub fn abandon(&mut self, request: RequestKey) -> Option<T> {
        let mut entry = self.requests.remove(&request)?;
        self.live -= usize::from(!entry.over);
        self.forget_timers(request, entry.take_timers());
        let served = &mut self.pipelines[entry.pipeline.0];
        for part in entry.parts {
            served.release(entry.turn, part.slice);
        }
        (!entry.over).then_some(entry.payload)
    }

    /// Forgets the timers of a request and its quorums, because no client waits any more.
    fn forget_timers(&mut self, request: RequestKey, timers: RequestTimers) {
        if let Some(at) = timers.deadline {
            self.deadlines.remove(&(at, request));
        }
        let served = &mut self.pipelines[timers.pipeline.0];
        served.waiting -= usize::from(timers.waited);
        for wait in served.flow.waits() {
            let at = timers.submitted.saturating_add(*wait);
            self.patience.remove(&(at, request));
        }
        if let Some(waiting) = timers.waiting {
            self.leave_queue(request, timers.pipeline, waiting);
        }
    }
}
