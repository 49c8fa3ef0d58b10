//! The wait of a closed engine for the requests under way: a state machine without a clock.

use std::time::Duration;

/// The limits of the wait for requests under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainLimits {
    /// The whole time.
    pub whole: Duration,
    /// The longest time without progress.
    pub still: Duration,
}

impl DrainLimits {
    /// Waits exactly this long, regardless of progress.
    pub fn within(whole: Duration) -> Self {
        DrainLimits {
            whole,
            still: whole,
        }
    }
}

impl Default for DrainLimits {
    fn default() -> Self {
        DrainLimits {
            whole: Duration::from_secs(30 * 60),
            still: Duration::from_secs(5 * 60),
        }
    }
}

/// The remaining work, which only decreases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkLeft {
    /// Requests that are not over.
    pub requests: usize,
    /// Samples that hold a slot of the pool.
    pub samples: usize,
}

/// A wait for requests under way.
#[derive(Clone, Debug)]
pub struct DrainWait {
    /// The latest end of the wait.
    end: Duration,
    still: Duration,
    left: WorkLeft,
    /// The time of the last progress.
    moved: Duration,
}

impl DrainWait {
    /// Begins the wait.
    pub fn begin(now: Duration, limits: DrainLimits) -> Self {
        DrainWait {
            end: now.saturating_add(limits.whole),
            still: limits.still,
            left: WorkLeft::default(),
            moved: now,
        }
    }

    /// Limits the wait to `within` from now on.
    pub fn hurry(&mut self, now: Duration, within: Duration) {
        self.end = self.end.min(now.saturating_add(within));
    }

    /// Returns whether to continue waiting with this remaining work.
    pub fn goes_on(&mut self, now: Duration, left: WorkLeft) -> bool {
        if left != self.left {
            (self.left, self.moved) = (left, now);
        }
        let end = self.end.min(self.moved.saturating_add(self.still));
        left.requests > 0 && now < end
    }
}
