//! How long an engine that takes no more requests waits for those under way: a state machine without a
//! clock.

use std::time::Duration;

/// The limits of a wait for requests under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainLimits {
    /// The time in all.
    pub whole: Duration,
    /// The time in which nothing of them is done.
    pub still: Duration,
}

impl DrainLimits {
    /// Waits so long and no longer, whatever is done meanwhile.
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

/// The work that is left, which only ever gets less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkLeft {
    /// Requests that are not over.
    pub requests: usize,
    /// Samples that hold a place in the pool.
    pub samples: usize,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct DrainWait {
    /// When it ends in any case.
    end: Duration,
    still: Duration,
    left: WorkLeft,
    /// When something was last done.
    moved: Duration,
}

impl DrainWait {
    /// Begins to wait.
    pub fn begin(now: Duration, limits: DrainLimits) -> Self {
        DrainWait {
            end: now.saturating_add(limits.whole),
            still: limits.still,
            left: WorkLeft::default(),
            moved: now,
        }
    }

    /// Waits no longer than `within` from now on.
    pub fn hurry(&mut self, now: Duration, within: Duration) {
        self.end = self.end.min(now.saturating_add(within));
    }

    /// Returns whether to wait on, with so much left.
    pub fn goes_on(&mut self, now: Duration, left: WorkLeft) -> bool {
        if left != self.left {
            (self.left, self.moved) = (left, now);
        }
        let end = self.end.min(self.moved.saturating_add(self.still));
        left.requests > 0 && now < end
    }
}
