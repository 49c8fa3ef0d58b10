//! The record of a simulation.

use std::time::Duration;

use crate::policies::PolicyDecision;
use crate::states::StateChange;
use crate::variants::VariantIndex;

/// A query and its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryRecord {
    /// The arrival time.
    pub arrived: Duration,
    /// Its stream.
    pub stream: u16,
    /// The answering variant and the latency, or `None` without an answer.
    pub answer: Option<(VariantIndex, Duration)>,
    /// Whether it was answered within its goals.
    pub met: bool,
}

/// A second of a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct TickRecord {
    /// The end of the second.
    pub at: Duration,
    /// The running and starting machines of each kind.
    pub workers: Vec<u16>,
    /// The cost of loaded and loading instances, in money per second.
    pub instance_cost: f64,
    /// The share of device time used by queries.
    pub utilisation: f64,
    /// The number of written rows of offline jobs.
    pub offline_rows: u64,
    /// The decision.
    pub decision: PolicyDecision,
}

/// The record of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetRecord {
    /// All queries in the order of arrival.
    pub queries: Vec<QueryRecord>,
    /// All seconds.
    pub ticks: Vec<TickRecord>,
    /// The state changes of variants.
    pub changes: Vec<(VariantIndex, StateChange)>,
    /// The total cost of machines.
    pub worker_cost: f64,
    /// The total cost of instances.
    pub instance_cost: f64,
    /// The number of written rows of offline jobs.
    pub offline_rows: u64,
}

impl FleetRecord {
    /// Returns the share of queries that were not answered within their goals.
    pub fn missed(&self) -> f64 {
        let missed = self.queries.iter().filter(|q| !q.met).count();
        missed as f64 / self.queries.len().max(1) as f64
    }
}
