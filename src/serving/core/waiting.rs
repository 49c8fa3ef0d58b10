//! What is asked and not answered yet.

use std::time::Duration;

use crate::serving::batch::RequestKey;

use super::Core;

impl<T: Clone> Core<T> {
    /// How long the oldest request that is not over has waited for its answer; none where
    /// nothing is under way. Requests are passed over once each, so asking often costs
    /// nothing.
    pub fn oldest_waiting(&mut self, now: Duration) -> Option<Duration> {
        while self.oldest < self.next_request {
            let request = self.requests.get(&RequestKey(self.oldest));
            if let Some(entry) = request.filter(|e| !e.failed) {
                return Some(now.saturating_sub(entry.submitted));
            }
            self.oldest += 1;
        }
        None
    }
}
