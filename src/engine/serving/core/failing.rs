//! Requests that are given up: cancelled, late, or their worker lost.

use std::time::Duration;

use crate::serving::batch::RequestKey;
use crate::serving::queue::StepFilter;
use divisi_model::dataflow::{RowSet, StepIndex};

use super::Core;
use super::owed::{Finished, Owed};

impl<T: Clone> Core<T> {
    /// Gives a request up: nothing of it is started any more. Nothing is owed where it is
    /// already over.
    pub fn fail(&mut self, now: Duration, request: RequestKey) -> Owed<T> {
        self.fail_many(now, &[request])
    }

    /// Gives requests up; what others wait for is not looked at.
    pub fn fail_many(&mut self, now: Duration, requests: &[RequestKey]) -> Owed<T> {
        let mut owed = Owed::new(&self.dropped);
        for &request in requests {
            let finished = self.give_up_request(now, request);
            finished.into_iter().for_each(|f| owed.push(f));
        }
        owed
    }

    /// The work of a step on rows of a part has failed: these, counted in the part, will have no result.
    /// It is to be told before that work is over. Whether the request's answer can do without them.
    pub fn lacks(
        &mut self,
        (request, part): (RequestKey, usize),
        step: StepIndex,
        rows: &RowSet,
    ) -> bool {
        let Some(entry) = self.requests.get_mut(&request) else {
            return false;
        };
        let is_spared = self.pipelines[entry.pipeline.0].flow.is_spared(step);
        let progress = entry.parts[part].progress.as_mut();
        if let Some(progress) = progress.filter(|_| is_spared) {
            progress.lacks(step, rows);
        }
        is_spared
    }

    /// A quorum of a part is not met by what is left: the request fails.
    pub(super) fn fail_unmet(
        &mut self,
        now: Duration,
        (request, part): (RequestKey, usize),
    ) -> Option<Finished<T>> {
        let finished = self.give_up_request(now, request);
        // What was queued of it may have been the last that held it.
        let entry = self.requests.get(&request);
        if entry.is_some_and(|entry| entry.parts[part].outstanding == 0) {
            self.free_part(request, part);
        }
        finished.map(|finished| Finished {
            unmet: true,
            ..finished
        })
    }

    /// Gives a request up, unless it is over.
    fn give_up_request(&mut self, now: Duration, request: RequestKey) -> Option<Finished<T>> {
        let finished = self.mark_failed(now, request)?;
        let orders = self.orders_of(request);
        for range in self.scheduler.remove_samples(&orders, StepFilter::All) {
            self.discard(&range);
        }
        Some(finished)
    }

    /// Lets time pass. Returns the requests past their deadline. Whether anything can start
    /// is for [`Core::wake`] to tell.
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

    /// Gives up every request that is not over, and returns them.
    pub fn fail_all(&mut self, now: Duration) -> Owed<T> {
        let mut keys: Vec<RequestKey> = self.requests.keys().copied().collect();
        keys.sort_unstable();
        self.fail_many(now, &keys)
    }
}
