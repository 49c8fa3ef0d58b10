//! Requests that are given up: cancelled, late, or their worker lost.

use std::collections::HashSet;
use std::time::Duration;

use crate::metrics::LatencySplit;
use crate::serving::batch::RequestKey;

use super::{Core, Finished};

impl<T: Clone> Core<T> {
    /// Gives a request up: nothing of it is started any more. Its payload, to be
    /// answered with the reason; none where it is already over.
    pub fn fail(&mut self, now: Duration, request: RequestKey) -> Option<Finished<T>> {
        self.fail_many(now, &[request]).pop()
    }

    /// Gives requests up, in one pass over the queues.
    pub fn fail_many(&mut self, now: Duration, requests: &[RequestKey]) -> Vec<Finished<T>> {
        let mut failed = Vec::new();
        let mut gone = HashSet::new();
        for &request in requests {
            if let Some(finished) = self.mark_failed(now, request) {
                gone.insert(request);
                failed.push(finished);
            }
        }
        if !gone.is_empty() {
            for range in self.scheduler.remove_requests(|key| gone.contains(&key)) {
                self.settle(&range);
            }
        }
        failed
    }

    fn mark_failed(&mut self, now: Duration, request: RequestKey) -> Option<Finished<T>> {
        let entry = self.requests.get_mut(&request).filter(|e| !e.failed)?;
        entry.failed = true;
        self.live -= 1;
        if let Some(at) = entry.deadline {
            self.deadlines.remove(&(at, request));
        }
        Some(Finished {
            payload: entry.payload.clone(),
            samples: entry.samples,
            latency: now.saturating_sub(entry.submitted),
            split: LatencySplit::default(),
        })
    }

    /// Takes back a request whose samples were never queued.
    pub fn abandon(&mut self, request: RequestKey) {
        if let Some(entry) = self.requests.remove(&request) {
            self.live -= usize::from(!entry.failed);
            self.forget_deadline(&entry, request);
            for part in entry.parts {
                self.pool.release(part.slice.extent, part.slice.len);
            }
        }
    }

    /// Time passes: gives requests past their deadline. Whether anything can start
    /// is for [`Core::wake`] to tell.
    pub fn tick(&mut self, now: Duration) -> Vec<Finished<T>> {
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

    /// Every request that is not over fails: gives them.
    pub fn fail_all(&mut self, now: Duration) -> Vec<Finished<T>> {
        let mut keys: Vec<RequestKey> = self.requests.keys().copied().collect();
        keys.sort_unstable();
        self.fail_many(now, &keys)
    }
}
