//! Requests that fail: cancelled, late, or without a worker.

use std::time::Duration;

use crate::serving::batch::RequestKey;
use crate::serving::queue::StepFilter;
use divisi_model::dataflow::{RowSet, StepIndex};

use super::Core;
use super::owed::{Finished, Owed};

impl<T: Clone> Core<T> {
    /// Fails a request and starts nothing more of it. Returns nothing if the request is already
    /// over.
    pub fn fail(&mut self, now: Duration, request: RequestKey) -> Owed<T> {
        self.fail_many(now, &[request])
    }

    /// Fails requests, regardless of the steps that wait for them.
    pub fn fail_many(&mut self, now: Duration, requests: &[RequestKey]) -> Owed<T> {
        let mut owed = Owed::new(&self.dropped);
        for &request in requests {
            let finished = self.give_up_request(now, request);
            finished.into_iter().for_each(|f| owed.push(f));
        }
        owed
    }

    /// Records that a step failed for `rows` of a part, which will have no result. Call this before
    /// the work ends. Returns whether the request can be answered without them.
    pub fn lacks(
        &mut self,
        request: RequestKey,
        part: usize,
        step: StepIndex,
        rows: &RowSet,
    ) -> bool {
        let Some(entry) = self.requests.get_mut(&request) else {
            return false;
        };
        let is_spared = self.pipelines[entry.pipeline.0].flow.is_spared(step);
        let progress = entry.parts[part].progress.as_mut();
        if let Some(progress) = progress.filter(|_| is_spared) {
            progress.record_failed_rows(step, rows);
        }
        is_spared
    }

    /// Fails a request because a quorum of its part can no longer be met.
    pub(super) fn fail_unmet(
        &mut self,
        now: Duration,
        request: RequestKey,
        part: usize,
    ) -> Option<Finished<T>> {
        let finished = self.give_up_request(now, request);
        // Its queued samples may have been the last to hold the request.
        let entry = self.requests.get(&request);
        if entry.is_some_and(|entry| entry.parts[part].outstanding == 0) {
            self.free_part(request, part);
        }
        finished.map(|finished| Finished {
            unmet: true,
            ..finished
        })
    }

    /// Fails a request unless it is over.
    fn give_up_request(&mut self, now: Duration, request: RequestKey) -> Option<Finished<T>> {
        let finished = self.mark_failed(now, request)?;
        let orders = self.orders_of(request);
        for range in self.scheduler.remove_samples(&orders, StepFilter::All) {
            self.discard(&range);
        }
        Some(finished)
    }

    /// Advances the time and returns the requests past their deadline. [`Core::wake`] determines
    /// whether anything can start.
    pub fn tick(&mut self, now: Duration) -> Owed<T> {
        self.scheduler.tick(now);
        let mut late = Vec::new();
        while let Some(&(at, request)) = self.deadlines.first() {
            if at > now {
                break;
            }
            self.deadlines.pop_first();
            late.push(request);
        }
        self.fail_many(now, &late)
    }

    /// Fails every request that is not over, and returns them.
    pub fn fail_all(&mut self, now: Duration) -> Owed<T> {
        let mut keys: Vec<RequestKey> = self.requests.keys().copied().collect();
        keys.sort_unstable();
        self.fail_many(now, &keys)
    }
}
