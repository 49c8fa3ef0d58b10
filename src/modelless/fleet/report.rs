//! The record of a simulation.

use std::time::Duration;

use crate::policies::PolicyDecision;
use crate::states::StateChange;
use crate::variants::VariantIndex;

/// A query and its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryRecord {
    /// When it arrived.
    pub arrived: Duration,
    /// Its stream.
    pub stream: u16,
    /// Which variant answered after which time, or `None` where none did.
    pub answer: Option<(VariantIndex, Duration)>,
    /// Whether it was answered within its goals.
    pub met: bool,
}

/// A second of a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct TickRecord {
    /// When it ended.
    pub at: Duration,
    /// The machines of each kind that are there or start.
    pub workers: Vec<u16>,
    /// The cost of loaded and loading instances, in money a second.
    pub instance_cost: f64,
    /// The part of the devices' time that queries took.
    pub utilisation: f64,
    /// The rows of offline jobs that are written.
    pub offline_rows: u64,
    /// The decision.
    pub decision: PolicyDecision,
}

/// Everything that happened in a fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetRecord {
    /// Every query, by its arrival.
    pub queries: Vec<QueryRecord>,
    /// Every second.
    pub ticks: Vec<TickRecord>,
    /// The changes of variants' states.
    pub changes: Vec<(VariantIndex, StateChange)>,
    /// The cost of machines until the end, in money.
    pub worker_cost: f64,
    /// The cost of instances until the end, in money.
    pub instance_cost: f64,
    /// The rows of offline jobs that were written.
    pub offline_rows: u64,
}

impl FleetRecord {
    /// Returns the part of queries that were not answered within their goals.
    pub fn missed(&self) -> f64 {
        let missed = self.queries.iter().filter(|q| !q.met).count();
        missed as f64 / self.queries.len().max(1) as f64
    }

    /// Returns the number of queries that were answered by `end`.
    pub fn answered_by(&self, end: Duration) -> usize {
        let answered = self.queries.iter();
        answered
            .filter(|q| q.answer.is_some_and(|(_, took)| q.arrived + took <= end))
            .count()
    }

    /// Returns a quantile of the latencies of the queries that `of` takes, or `None` without any.
    pub fn latency(&self, part: f64, of: impl Fn(&QueryRecord) -> bool) -> Option<Duration> {
        let taken = self.queries.iter().filter(|q| of(q));
        let mut all: Vec<Duration> = taken
            .filter_map(|q| q.answer.map(|(_, took)| took))
            .collect();
        all.sort_unstable();
        let last = all.len().checked_sub(1)?;
        all.get((part * last as f64).round() as usize).copied()
    }
}
