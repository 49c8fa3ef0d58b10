//! The wait of requests for their first batch, and its timeout.

use std::time::Duration;

use crate::serving::batch::{PipelineIndex, Range, RequestKey};
use crate::serving::queue::StepFilter;
use divisi_model::dataflow::StepWork;
use divisi_model::ensemble::TimeoutAction;

use super::waiting::{LevelStats, WaitingRequest};
use super::{Core, Owed};

impl<T: Clone> Core<T> {
    /// Returns the waiting requests of a pipeline, level by level. Empty if the pipeline does not
    /// configure queueing.
    pub fn queue_of(&self, pipeline: PipelineIndex) -> Vec<LevelStats> {
        let queue = self.pipelines[pipeline.0].queue.as_ref();
        queue
            .map(|queue| queue.levels().to_vec())
            .unwrap_or_default()
    }

    /// Returns the number of a pipeline's requests that wait for their first batch.
    pub fn waiting(&self, pipeline: PipelineIndex) -> usize {
        let served = self.pipelines.get(pipeline.0);
        served.map_or(0, |served| served.waiting)
    }

    /// Ends the wait of the requests of these ranges, because their first batch begins.
    pub(super) fn begin_requests(&mut self, ranges: &[Range]) {
        for range in ranges {
            let entry = self.requests.get_mut(&range.request);
            let begun = entry.and_then(|entry| Some((entry.pipeline, entry.waiting.take()?)));
            if let Some((pipeline, waiting)) = begun {
                self.leave_queue(range.request, pipeline, waiting);
            }
        }
    }

    /// Ends the wait of a request.
    pub(super) fn leave_queue(
        &mut self,
        request: RequestKey,
        pipeline: PipelineIndex,
        waiting: WaitingRequest,
    ) {
        if let Some(at) = waiting.until {
            self.expiries.remove(&(at, request));
        }
        if let Some(queue) = &mut self.pipelines[pipeline.0].queue {
            queue.leave(waiting);
        }
    }

    /// Handles requests that have waited too long for their first batch. Some move behind the
    /// others. Returns the failed ones.
    pub fn expire(&mut self, now: Duration) -> Owed<T> {
        let mut rejected = Vec::new();
        while let Some(&(at, request)) = self.expiries.first() {
            if at > now {
                break;
            }
            self.expiries.pop_first();
            match self.note_expired(request) {
                Some(TimeoutAction::Reject) => rejected.push(request),
                Some(TimeoutAction::Delay) => self.delay(now, request),
                None => {}
            }
        }
        self.fail_many(now, &rejected)
    }

    fn note_expired(&mut self, request: RequestKey) -> Option<TimeoutAction> {
        let entry = self.requests.get_mut(&request)?;
        let waiting = entry.waiting.as_mut()?;
        let expired = *waiting;
        (waiting.until, waiting.delayed) = (None, expired.action == TimeoutAction::Delay);
        let queue = self.pipelines[entry.pipeline.0].queue.as_mut()?;
        queue.expired(expired);
        Some(expired.action)
    }

    /// Moves the waiting samples of a request behind all others of its urgency.
    fn delay(&mut self, now: Duration, request: RequestKey) {
        let Some(entry) = self.requests.get_mut(&request) else {
            return;
        };
        if entry.orders.is_empty() {
            // The request is not queued yet.
            return;
        }
        let taken = self
            .scheduler
            .remove_samples(&entry.orders, StepFilter::All);
        entry.orders = entry.orders.start.delayed()..entry.orders.end.delayed();
        let parts = entry.parts.iter_mut();
        parts.for_each(|part| part.order = part.order.delayed());
        let flow = &self.pipelines[entry.pipeline.0].flow;
        for range in taken {
            if let StepWork::Model { member, .. } = flow.step(range.step).work {
                let order = range.order.delayed();
                let delayed = Range { order, ..range };
                self.scheduler.submit(now, member, delayed);
            }
        }
    }
}
