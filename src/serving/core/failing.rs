//! Requests that are given up: cancelled, late, or their worker lost.

use std::time::Duration;

use crate::serving::batch::RequestKey;
use crate::serving::queue::StepFilter;

use super::Core;
use super::owed::Owed;

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
            let Some(finished) = self.mark_failed(now, request) else {
                continue;
            };
            owed.push(finished);
            let orders = self.orders_of(request);
            for range in self.scheduler.remove_samples(&orders, StepFilter::All) {
                self.discard(&range);
            }
        }
        owed
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
