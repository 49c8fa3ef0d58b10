//! How much of the time a GPU computed, where lanes overlap.

use std::collections::VecDeque;
use std::time::Duration;

/// Times that are told apart; older ones count as covered.
const MOST: usize = 64;

/// The union of the times told so far.
#[derive(Debug, Default)]
pub(super) struct BusyIntervals {
    /// Disjoint, in order.
    times: VecDeque<(Duration, Duration)>,
    /// Everything before it counts as covered.
    closed: Duration,
}

impl BusyIntervals {
    /// Adds the time from `from` to `to`; gives how much of it was not covered before, so
    /// that what batches are given adds up to the union of their times.
    pub fn add(&mut self, from: Duration, to: Duration) -> Duration {
        let from = from.max(self.closed);
        if to <= from {
            return Duration::ZERO;
        }
        let overlaps = |&&(a, b): &&(Duration, Duration)| b >= from && a <= to;
        let known = self.times.iter().filter(overlaps);
        let common = |&(a, b): &(Duration, Duration)| b.min(to).saturating_sub(a.max(from));
        let covered: Duration = known.clone().map(common).sum();
        let whole = known.fold((from, to), |(x, y), &(a, b)| (x.min(a), y.max(b)));
        self.times.retain(|&(a, b)| b < from || a > to);
        let at = self.times.partition_point(|&(a, _)| a < whole.0);
        self.times.insert(at, whole);
        self.shorten();
        (to - from).saturating_sub(covered)
    }

    fn shorten(&mut self) {
        while self.times.len() > MOST {
            if let Some((_, end)) = self.times.pop_front() {
                self.closed = end;
            }
        }
    }
}
