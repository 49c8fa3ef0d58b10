//! The fleet, the queries and the policy of a simulation.

use std::time::Duration;

use crate::demands::QueryStream;
use crate::jobs::JobRules;
use crate::placement::DeviceSlot;
use crate::policies::{ChangeRules, PlanObjective, PolicyChoice};
use crate::quantities::CostRate;
use crate::states::StateThresholds;
use crate::variants::{DeviceKindIndex, VariantCatalog, VariantIndex};

/// A kind of machine.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerKind {
    /// Its devices.
    pub devices: Vec<DeviceKindIndex>,
    /// The price while it runs.
    pub price: CostRate,
    /// The time from the decision to start a machine until it runs.
    pub starting: Duration,
    /// The initial and minimum number of machines.
    pub initial: u16,
    /// The maximum number of machines.
    pub most: u16,
}

/// The arrival of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueryArrival {
    /// The arrival time.
    pub at: Duration,
    /// The stream of the query.
    pub stream: u16,
}

/// An offline job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetJob {
    /// Its variant.
    pub variant: VariantIndex,
    /// The number of its rows.
    pub rows: u64,
    /// The submission time.
    pub at: Duration,
}

/// Another program that slows down a device for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceDisturbance {
    /// The device.
    pub device: DeviceSlot,
    /// The time from which batches are slower.
    pub from: Duration,
    /// The time until which batches are slower.
    pub until: Duration,
    /// The ratio of their time to the profiled time.
    pub slowdown: f64,
}

/// A fleet, its queries, and its policy.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetScenario {
    /// The variants.
    pub catalog: VariantCatalog,
    /// The kinds of machines, whose devices are in the same order.
    pub workers: Vec<WorkerKind>,
    /// The initially loaded instances, in device order.
    pub initial: Vec<(VariantIndex, DeviceSlot)>,
    /// The streams of the arrivals.
    pub streams: Vec<QueryStream>,
    /// The arrivals in the order of time.
    pub arrivals: Vec<QueryArrival>,
    /// The offline jobs.
    pub jobs: Vec<FleetJob>,
    /// The disturbances by other programs. Policies see only the times of batches.
    pub disturbances: Vec<DeviceDisturbance>,
    /// The policy.
    pub policy: PolicyChoice,
    /// The objective of the policy `divisi`.
    pub objective: PlanObjective,
    /// The rules for changes of instances.
    pub rules: ChangeRules,
    /// Whether queries that cannot be answered in time are refused at once. Otherwise they wait.
    pub refuses_late: bool,
    /// The thresholds for overload and interference.
    pub thresholds: StateThresholds,
    /// The rules for offline batches.
    pub job_rules: JobRules,
    /// The time of the last decision. Accepted queries are still answered afterwards.
    pub end: Duration,
}
