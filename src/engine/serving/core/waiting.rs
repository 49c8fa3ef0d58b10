//! Requests waiting for their first batch, for pipelines that configure the order, the number and
//! the time.
//!
//! A request counts from its admission until its first batch begins. The order itself results from
//! the positions of its samples in the members' queues.

use std::sync::Arc;
use std::time::Duration;

use crate::serving::door::Refused;
use divisi_model::ensemble::{QueueLevel, Queueing, TimeoutAction};

/// The waiting requests of one level, and the outcomes of others since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelStats {
    /// Requests waiting for their first batch.
    pub waiting: usize,
    /// Requests refused because the level was full.
    pub refused: u64,
    /// Requests that waited too long and failed.
    pub expired: u64,
    /// Requests that waited too long and moved behind the others.
    pub delayed: u64,
}

/// The waiting requests of a pipeline.
pub(super) struct EntryQueue {
    queueing: Arc<Queueing>,
    levels: Vec<LevelStats>,
}

/// A request waiting for its first batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingRequest {
    pub level: QueueLevel,
    pub urgency: i16,
    /// The time at which its wait expires.
    pub until: Option<Duration>,
    /// Whether its wait expired and it moved behind the others.
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

    /// Returns whether no level goes before this priority's level.
    pub(super) fn goes_first(&self, priority: u64) -> bool {
        self.queueing.level_of(priority).position() == 0
    }

    /// Admits a request if its level has room.
    ///
    /// # Errors
    /// The level is full.
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

    /// Begins the wait of an admitted request.
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

    /// Returns the figures of the waiting requests, level by level.
    pub(super) fn levels(&self) -> &[LevelStats] {
        &self.levels
    }

    /// Ends the wait of a request.
    pub(super) fn leave(&mut self, waiting: WaitingRequest) {
        self.stats(waiting.level).waiting -= 1;
    }

    /// Records a request that waited too long.
    pub(super) fn expired(&mut self, waiting: WaitingRequest) {
        let stats = self.stats(waiting.level);
        match waiting.action {
            TimeoutAction::Reject => stats.expired += 1,
            TimeoutAction::Delay => stats.delayed += 1,
        }
    }
}
