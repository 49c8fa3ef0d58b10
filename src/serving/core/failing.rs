//! Requests that are given up: cancelled, late, or their worker lost.

use std::time::Duration;

use crate::metrics::LatencySplit;
use crate::serving::batch::RequestKey;

use super::{Core, Finished, Owed};

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
            let orders = self.requests.get(&request).map(|e| e.orders.clone());
            for range in self.scheduler.remove_samples(&orders.unwrap_or_default()) {
                self.discard(&range);
            }
        }
        owed
    }

    fn mark_failed(&mut self, now: Duration, request: RequestKey) -> Option<Finished<T>> {
        let entry = self.requests.get_mut(&request).filter(|e| !e.failed)?;
        entry.failed = true;
        self.live -= 1;
        if let Some(at) = entry.deadline {
            self.deadlines.remove(&(at, request));
        }
        Some(Finished {
            request,
            payload: entry.payload.clone(),
            samples: entry.samples,
            latency: now.saturating_sub(entry.submitted),
            split: LatencySplit::default(),
        })
    }

    /// Takes back a request whose samples were never queued; its payload, unless it was
    /// answered before.
    pub fn abandon(&mut self, request: RequestKey) -> Option<T> {
        let entry = self.requests.remove(&request)?;
        self.live -= usize::from(!entry.failed);
        self.forget_deadline(&entry, request);
        for part in entry.parts {
            self.pool.release(part.slice.extent, part.slice.len);
        }
        (!entry.failed).then_some(entry.payload)
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
