//! The fleet, the queries and the policy of a simulation.

use std::time::Duration;

use super::loads::QueryArrival;
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
    /// Its price while it is there.
    pub price: CostRate,
    /// The time from the decision to start one until it is there.
    pub starting: Duration,
    /// How many are there at the beginning, and at least.
    pub initial: u16,
    /// How many there are at most.
    pub most: u16,
}

/// An offline job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetJob {
    /// The variant that it names.
    pub variant: VariantIndex,
    /// Its rows.
    pub rows: u64,
    /// When it is submitted.
    pub at: Duration,
}

/// A fleet, what it is asked, and how it decides.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetScenario {
    /// The variants.
    pub catalog: VariantCatalog,
    /// The kinds of machines; the devices of the first ones come first.
    pub workers: Vec<WorkerKind>,
    /// The instances that are loaded at the beginning, by the devices' order.
    pub initial: Vec<(VariantIndex, DeviceSlot)>,
    /// The streams that arrivals are of.
    pub streams: Vec<QueryStream>,
    /// The arrivals, by their time.
    pub arrivals: Vec<QueryArrival>,
    /// The offline jobs.
    pub jobs: Vec<FleetJob>,
    /// Which policy decides.
    pub policy: PolicyChoice,
    /// By what the policy `divisi` judges plans.
    pub objective: PlanObjective,
    /// How policies change instances.
    pub rules: ChangeRules,
    /// Whether what cannot be answered in time is refused at once. Else it waits.
    pub refuses_late: bool,
    /// From where on variants are overloaded or interfered.
    pub thresholds: StateThresholds,
    /// When offline batches may run.
    pub job_rules: JobRules,
    /// When the last decision is made. Queries that were accepted are answered after it.
    pub end: Duration,
}
