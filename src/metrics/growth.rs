//! How fast queues grow.

use std::collections::VecDeque;
use std::time::Duration;

/// Lengths of queues at a few moments lately. No clock inside.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    seen: VecDeque<(Duration, Vec<usize>)>,
}

/// Moments at least so far apart are kept, for so long.
const APART: Duration = Duration::from_millis(500);
const KEPT: Duration = Duration::from_secs(5);

impl Growth {
    /// The queues' lengths at `now`.
    pub fn note(&mut self, now: Duration, lengths: impl Iterator<Item = usize>) {
        let due = self.seen.back().is_none_or(|(at, _)| now >= *at + APART);
        if due {
            self.seen.push_back((now, lengths.collect()));
        }
        while self.seen.front().is_some_and(|(at, _)| *at + KEPT < now) {
            self.seen.pop_front();
        }
    }

    /// Samples a second that a queue grew by: the slope of the line that fits best. Zero
    /// while it was seen for less than a second.
    pub fn of(&self, queue: usize) -> f64 {
        let points = || {
            let seen = self.seen.iter();
            seen.filter_map(|(at, all)| Some((at.as_secs_f64(), *all.get(queue)? as f64)))
        };
        let count = points().count() as f64;
        let (sum_t, sum_q) = points().fold((0.0, 0.0), |(t, q), (at, len)| (t + at, q + len));
        let (mean_t, mean_q) = (sum_t / count.max(1.0), sum_q / count.max(1.0));
        let (mut over, mut under) = (0.0, 0.0);
        for (at, len) in points() {
            over += (at - mean_t) * (len - mean_q);
            under += (at - mean_t).powi(2);
        }
        if count < 3.0 || under <= 0.0 {
            return 0.0;
        }
        over / under
    }
}
