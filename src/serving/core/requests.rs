//! Requests under way: admitted, queued step by step, over once every output is there.

use std::ops;
use std::sync::Arc;
use std::time::Duration;

use crate::dataflow::{PartProgress, RowSet, StepReport, StepWork};
use crate::metrics::LatencySplit;
use crate::serving::batch::{Range, RequestKey, Slice};
use crate::serving::door::Refused;
use crate::serving::queue::StepFilter;

use super::Core;
use super::entry::{Admission, Arrival, HostWork, PartEntry, RequestEntry, RequestTimers};
use super::owed::{Finished, Owed};

impl<T: Clone> Core<T> {
    /// A request knocks. Its samples are to be written where the admission says, then
    /// [`Core::enqueue`] is to be called.
    ///
    /// # Errors
    /// [`Refused`], at once.
    pub fn admit(
        &mut self,
        now: Duration,
        arrival: Arrival,
        payload: impl FnOnce(&[Slice]) -> T,
    ) -> Result<Admission, Refused> {
        let served = &mut self.pipelines[arrival.pipeline.0];
        let samples = arrival.samples;
        let (capacity, free) = (served.pool.capacity(), served.pool.available());
        self.door.admit(samples, capacity, free)?;
        let full = Refused::Full { samples, free };
        let parts = served.pool.allocate(samples).ok_or(full)?;
        let wanted = match &arrival.outputs {
            Some(outputs) => served.flow.wanted(outputs),
            None => served.flow.all().clone(),
        };
        let request = RequestKey(self.next_request);
        self.next_request += 1;
        let entry = RequestEntry {
            payload: payload(&parts),
            pipeline: arrival.pipeline,
            wanted,
            parts: parts.iter().map(|&slice| PartEntry::new(slice)).collect(),
            samples,
            open: parts.len(),
            held: parts.len(),
            orders: 0..0,
            submitted: now,
            deadline: arrival.deadline,
            over: false,
        };
        self.requests.insert(request, entry);
        self.deadlines
            .extend(arrival.deadline.map(|at| (at, request)));
        self.live += 1;
        Ok(Admission { request, parts })
    }

    /// The samples are written: the first steps may run.
    pub fn enqueue(&mut self, now: Duration, request: RequestKey) {
        let Some(entry) = self.requests.get_mut(&request) else {
            return;
        };
        if entry.over {
            // Given up while its samples were being written: nobody will read them.
            drop(self.abandon(request));
            return;
        }
        let mut order = self.next_order;
        self.next_order += entry.samples as u64;
        entry.orders = order..self.next_order;
        let admission = now.saturating_sub(entry.submitted);
        let flow = Arc::clone(&self.pipelines[entry.pipeline.0].flow);
        let submitted = entry.submitted;
        let waits = flow.waits().iter();
        let ends = waits.map(|wait| (submitted.saturating_add(*wait), request));
        self.patience.extend(ends);
        for part in 0..entry.parts.len() {
            let Some(entry) = self.requests.get_mut(&request) else {
                return;
            };
            let place = &mut entry.parts[part];
            let samples = place.slice.len;
            let (progress, report) = PartProgress::begin(&flow, &entry.wanted, samples, admission);
            (place.order, place.progress) = (order, Some(progress));
            order += samples as u64;
            let complete = self.follow(now, request, part, report);
            debug_assert!(complete.is_none(), "every part has something to run");
        }
    }

    /// Samples of a range were run; `split` is where their time went since they were queued.
    pub(super) fn ran(
        &mut self,
        now: Duration,
        range: &Range,
        split: impl Fn() -> LatencySplit,
    ) -> Option<Finished<T>> {
        let entry = self.requests.get_mut(&range.request)?;
        let flow = &self.pipelines[entry.pipeline.0].flow;
        let part = &mut entry.parts[range.part];
        part.outstanding -= range.len;
        let report = match &mut part.progress {
            Some(progress) if !entry.over => progress.ran(flow, range.step, range.len, split),
            _ => StepReport::default(),
        };
        self.follow(now, range.request, range.part, report)
    }

    /// The host has made the result of a step for `rows`. Returns the request, if it is complete.
    pub fn made<P>(&mut self, now: Duration, work: &HostWork<P>, rows: RowSet) -> Owed<T> {
        let mut owed = Owed::new(&self.dropped);
        let Some(entry) = self.requests.get_mut(&work.request) else {
            return owed;
        };
        let flow = &self.pipelines[entry.pipeline.0].flow;
        let total = now.saturating_sub(entry.submitted);
        let part = &mut entry.parts[work.part];
        part.outstanding -= 1;
        let report = match &mut part.progress {
            Some(progress) if !entry.over => progress.made(flow, work.step, rows, total),
            _ => StepReport::default(),
        };
        if let Some(finished) = self.follow(now, work.request, work.part, report) {
            owed.push(finished);
        }
        owed
    }

    /// Steps of the host's that are to be run now, in the order in which they became ready.
    pub fn take_host_work(&mut self) -> Vec<HostWork<T>> {
        std::mem::take(&mut self.host_work)
    }

    /// Lets quorums that waited long enough do without the steps that are late. Returns the
    /// requests that are complete by it.
    pub fn lose_patience(&mut self, now: Duration) -> Owed<T> {
        let mut owed = Owed::new(&self.dropped);
        while let Some(&(at, request)) = self.patience.first() {
            if at > now {
                break;
            }
            self.patience.pop_first();
            let parts = self.requests.get(&request).map_or(0, |e| e.parts.len());
            for part in 0..parts {
                if let Some(finished) = self.lose_patience_with(now, request, part) {
                    owed.push(finished);
                }
            }
        }
        owed
    }

    fn lose_patience_with(
        &mut self,
        now: Duration,
        request: RequestKey,
        part: usize,
    ) -> Option<Finished<T>> {
        let entry = self.requests.get_mut(&request).filter(|e| !e.over)?;
        let flow = &self.pipelines[entry.pipeline.0].flow;
        let total = now.saturating_sub(entry.submitted);
        let progress = entry.parts[part].progress.as_mut()?;
        let report = progress.lose_patience(flow, total);
        self.follow(now, request, part, report)
    }

    /// Does what follows from an event of a part; the request, if it is complete by it.
    fn follow(
        &mut self,
        now: Duration,
        request: RequestKey,
        part: usize,
        report: StepReport,
    ) -> Option<Finished<T>> {
        let entry = self.requests.get_mut(&request)?;
        let flow = &self.pipelines[entry.pipeline.0].flow;
        for step in report.ready {
            match flow.step(step).work {
                StepWork::Fold => {}
                StepWork::Host => {
                    let needs = &flow.step(step).needs;
                    self.host_work
                        .extend(entry.host_work(request, part, step, needs));
                }
                StepWork::Model { member, plane } => {
                    let (place, scheduler) = (&mut entry.parts[part], &mut self.scheduler);
                    let first = place.range(request, part, (step, plane), now);
                    place.queue(first, |range| scheduler.submit(now, member, range));
                }
            }
        }
        if !report.dropped.is_empty() {
            let place = &mut entry.parts[part];
            let (orders, steps) = (place.orders(), StepFilter::Some(&report.dropped));
            let dropped = self.scheduler.remove_samples(&orders, steps);
            place.outstanding -= dropped.iter().map(|range| range.len).sum::<usize>();
        }
        let complete = report.over.and_then(|split| {
            entry.open -= 1;
            entry.over |= entry.open == 0;
            entry.over.then(|| entry.finished(now, request, split))
        });
        let is_idle = entry.parts[part].outstanding == 0;
        if complete.is_some() {
            let timers = entry.timers();
            self.live -= 1;
            self.forget_timers(request, timers);
        }
        if is_idle {
            self.free_part(request, part);
        }
        complete
    }

    /// Counts samples of a request that nobody waits for as gone.
    pub(super) fn discard(&mut self, range: &Range) {
        if let Some(entry) = self.requests.get_mut(&range.request) {
            entry.parts[range.part].outstanding -= range.len;
            self.free_part(range.request, range.part);
        }
    }

    /// Frees a part's slots once nobody reads or writes them any more, and forgets the request
    /// with its last part.
    fn free_part(&mut self, request: RequestKey, part: usize) {
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
        served.pool.release(slice.extent, slice.len);
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
        let timers = entry.timers();
        self.live -= 1;
        self.forget_timers(request, timers);
        Some(finished)
    }

    /// Numbers of a request's samples in order of arrival.
    pub(super) fn orders_of(&self, request: RequestKey) -> ops::Range<u64> {
        let entry = self.requests.get(&request);
        entry.map_or(0..0, |e| e.orders.clone())
    }

    /// Takes back a request whose samples were never queued; its payload, unless it was
    /// answered before.
    pub fn abandon(&mut self, request: RequestKey) -> Option<T> {
        let entry = self.requests.remove(&request)?;
        self.live -= usize::from(!entry.over);
        self.forget_timers(request, entry.timers());
        let pool = &mut self.pipelines[entry.pipeline.0].pool;
        for part in entry.parts {
            pool.release(part.slice.extent, part.slice.len);
        }
        (!entry.over).then_some(entry.payload)
    }

    /// Nobody waits for a request any more, nor for its quorums.
    fn forget_timers(&mut self, request: RequestKey, timers: RequestTimers) {
        if let Some(at) = timers.deadline {
            self.deadlines.remove(&(at, request));
        }
        for wait in self.pipelines[timers.pipeline.0].flow.waits() {
            let at = timers.submitted.saturating_add(*wait);
            self.patience.remove(&(at, request));
        }
    }
}
