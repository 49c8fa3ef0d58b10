//! Requests that wait for their first batch, where a pipeline says in which order, how many and for
//! how long.
//!
//! A request is counted from its admission until the first batch that has samples of it begins. The
//! order itself is a matter of the places that its samples have in the members' queues.

use std::sync::Arc;
use std::time::Duration;

use crate::serving::door::Refused;
use divisi_model::ensemble::{QueueLevel, Queueing, TimeoutAction};

/// How requests of one level wait, and what became of others since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelStats {
    /// Requests that wait for their first batch.
    pub waiting: usize,
    /// Requests that were refused because as many waited as may.
    pub refused: u64,
    /// Requests that waited too long and failed.
    pub expired: u64,
    /// Requests that waited too long and went behind the others.
    pub delayed: u64,
}

/// The requests of a pipeline that wait.
pub(super) struct EntryQueue {
    queueing: Arc<Queueing>,
    levels: Vec<LevelStats>,
}

/// A request that waits for its first batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingRequest {
    pub level: QueueLevel,
    pub urgency: i16,
    /// When it has waited too long.
    pub until: Option<Duration>,
    /// It has waited too long, and went behind the others.
    pub delayed: bool,
    pub action: TimeoutAction,
}

impl EntryQueue {
    pub(super) fn new(queueing: Arc<Queueing>) -> Self {
        EntryQueue {
            levels: vec![LevelStats::default(); queueing.levels().len()],
            queueing,
        }
    }

    fn stats(&mut self, level: QueueLevel) -> &mut LevelStats {
        &mut self.levels[level.position()]
    }

    /// Whether no level goes before that of a priority.
    pub(super) fn goes_first(&self, priority: u64) -> bool {
        self.queueing.level_of(priority).position() == 0
    }

    /// Lets a request wait, as far as the queue is concerned.
    ///
    /// # Errors
    /// As many of its level wait as may.
    pub(super) fn admit(&mut self, priority: u64) -> Result<(), Refused> {
        let level = self.queueing.level_of(priority);
        let most = self.queueing.policy(level).most;
        let stats = self.stats(level);
        match most {
            Some(most) if stats.waiting >= most.get() as usize => {
                stats.refused += 1;
                Err(Refused::QueueFull {
                    priority: level.number(),
                    most: most.get(),
                })
            }
            _ => Ok(()),
        }
    }

    /// A request that was let in waits from now on.
    pub(super) fn enter(
        &mut self,
        now: Duration,
        priority: u64,
        patience: Option<Duration>,
    ) -> WaitingRequest {
        let level = self.queueing.level_of(priority);
        self.stats(level).waiting += 1;
        let timeout = self.queueing.policy(level).timeout;
        let within = timeout.map(|timeout| timeout.within(patience));
        WaitingRequest {
            level,
            urgency: self.queueing.urgency(level),
            until: within.map(|within| now.saturating_add(within)),
            delayed: false,
            action: timeout.map(|timeout| timeout.action).unwrap_or_default(),
        }
    }

    /// Returns how requests wait, level by level.
    pub(super) fn levels(&self) -> &[LevelStats] {
        &self.levels
    }

    /// A request waits no longer.
    pub(super) fn leave(&mut self, waiting: WaitingRequest) {
        self.stats(waiting.level).waiting -= 1;
    }

    /// A request waited too long.
    pub(super) fn expired(&mut self, waiting: WaitingRequest) {
        let stats = self.stats(waiting.level);
        match waiting.action {
            TimeoutAction::Reject => stats.expired += 1,
            TimeoutAction::Delay => stats.delayed += 1,
        }
    }
}
