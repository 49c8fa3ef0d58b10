//! Variants and demands as policies plan them.

use std::time::Duration;

use divisi_modelless::demands::QueryStream;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::policies::{ChangeRules, PlanObjective, SLACK, TaskDemand};
use divisi_modelless::quantities::{DeviceShare, QueryCost};
use divisi_modelless::variants::{TaskIndex, VariantCatalog};

/// The share of a device's time that an instance is, in thousandths: so many variants share a device at
/// most, and so finely plans know its time.
const SHARE: u16 = 50;

/// The seconds of the dearest device that an answer within its goals is worth beside what it takes.
const WORTH: f64 = 0.02;
/// How many times what the dearest variant of its task takes it is worth, so that no goal is given up
/// for time as long as there is some.
const WORTH_OF_TIME: f64 = 10.0;

/// The least time that loading counts for: a change starts an engine, which is not for little.
const LOADING: Duration = Duration::from_millis(100);

/// Devices are there anyway, so that what counts is the time that queries take of them. An instance
/// that is loaded costs a fiftieth of its share beside: with [`WORTH`], one that is asked less than
/// once in eight seconds leaves.
pub(super) const OBJECTIVE: PlanObjective = PlanObjective {
    slack: SLACK,
    cost: 0.02,
    lambda: 1.0,
    time: 1.0,
    right_answer: 0.0,
    waits: true,
};

/// How long an instance has to be superfluous before it leaves. Loading it takes less on most machines;
/// what it bounds is how often a load that swings makes the allocation swing.
pub(super) const HOLD_OFF: Duration = Duration::from_secs(10);

/// The next engine takes over when its networks are there.
pub(super) const RULES: ChangeRules = ChangeRules {
    hold_off: HOLD_OFF,
    at_once: true,
};

/// Variants in instances of a part of a device's time, and in money of which the dearest device
/// costs 1 a second: policies compare plans down to rounding, and a query costs a millionth of a cent.
#[derive(Clone, Debug)]
pub(super) struct PlannedVariants {
    catalog: VariantCatalog,
    /// The money of plans for each of the operator's.
    scale: f64,
    /// By task.
    worths: Vec<QueryCost>,
}

impl PlannedVariants {
    pub(super) fn new(catalog: &VariantCatalog) -> Self {
        let share = DeviceShare::thousandths(SHARE).unwrap_or(DeviceShare::WHOLE);
        let prices = catalog.devices().iter().map(|device| device.price.get());
        let dearest = prices.fold(0.0, f64::max);
        let scale = if dearest > 0.0 { 1.0 / dearest } else { 1.0 };
        let catalog = catalog.in_money(scale).sharing_time(share, LOADING);
        let worths = catalog.tasks().map(|task| worth(&catalog, task));
        PlannedVariants {
            worths: worths.collect(),
            catalog,
            scale,
        }
    }

    /// Returns the variants, in the order of the operator's catalogue.
    pub(super) fn catalog(&self) -> &VariantCatalog {
        &self.catalog
    }

    /// Returns the operator's money for some of the plans'.
    pub(super) fn money(&self, planned: f64) -> f64 {
        planned / self.scale
    }

    /// Returns a demand as it is planned for.
    pub(super) fn demand(&self, demand: &TaskDemand) -> TaskDemand {
        TaskDemand {
            goals: self.goals(&demand.goals),
            worth: self.worths[usize::from(demand.task.0)],
            ..demand.clone()
        }
    }

    /// Returns a stream as it is planned for.
    pub(super) fn stream(&self, stream: &QueryStream) -> QueryStream {
        QueryStream {
            goals: self.goals(&stream.goals),
            worth: self.worths[usize::from(stream.task.0)],
            ..*stream
        }
    }

    fn goals(&self, goals: &QueryGoals) -> QueryGoals {
        let scaled = |cost: QueryCost| QueryCost::new(self.scale * cost.get()).ok();
        QueryGoals {
            max_cost: goals.max_cost.and_then(scaled),
            ..*goals
        }
    }
}

fn worth(catalog: &VariantCatalog, task: TaskIndex) -> QueryCost {
    let variants = &catalog.variants()[catalog.range(task)];
    let costs = variants.iter().map(|variant| variant.query_cost().get());
    let dearest = costs.fold(0.0, f64::max);
    QueryCost::new(WORTH + WORTH_OF_TIME * dearest).unwrap_or(QueryCost::FREE)
}
