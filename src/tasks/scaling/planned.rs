//! Variants and demands in the units of policies.

use std::time::Duration;

use divisi_modelless::demands::QueryStream;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::policies::{ChangeRules, PlanObjective, SLACK, TaskDemand};
use divisi_modelless::quantities::{DeviceShare, QueryCost};
use divisi_modelless::variants::{TaskIndex, VariantCatalog};
use divisi_registry::registration::kind_name;
use divisi_runtime::device::Devices;

/// The share of a device's time that an instance has, in thousandths. It bounds the number of
/// variants on a device and the resolution of plans.
const SHARE: u16 = 50;

/// The worth of an answer within its goals in addition to its cost, in seconds of the most
/// expensive device.
const WORTH: f64 = 0.02;
/// The worth of an answer as a multiple of the cost of its task's most expensive variant, so that
/// no goal is given up for device time while there is enough.
const WORTH_OF_TIME: f64 = 10.0;

/// The least loading time: each change starts an engine, which has a cost.
const LOADING: Duration = Duration::from_millis(100);

/// The objective of plans. Devices are always on, so the device time of queries counts. A loaded
/// instance costs a fiftieth of its share in addition: with [`WORTH`], an instance with less than
/// one query in eight seconds is unloaded.
pub(super) const OBJECTIVE: PlanObjective = PlanObjective {
    slack: SLACK,
    cost: 0.02,
    lambda: 1.0,
    time: 1.0,
    right_answer: 0.0,
    waits: true,
};

/// The time after which an unused instance is unloaded. Loading takes less on most machines; the
/// bound limits how often a fluctuating load changes the allocation.
pub(super) const HOLD_OFF: Duration = Duration::from_secs(10);

/// The rules of changes: the next engine takes over once its networks are loaded.
pub(super) const RULES: ChangeRules = ChangeRules {
    hold_off: HOLD_OFF,
    at_once: true,
};

/// Variants with instances of a share of device time, and with prices scaled so that the most
/// expensive device costs 1 per second: policies compare plans up to rounding, and a query costs a
/// millionth of a cent.
#[derive(Clone, Debug)]
pub(super) struct PlannedVariants {
    catalog: VariantCatalog,
    /// The factor from the operator's prices to those of plans.
    scale: f64,
    /// The worth of an answer of each task.
    worths: Vec<QueryCost>,
}

impl PlannedVariants {
    pub(super) fn new(catalog: &VariantCatalog, devices: &Devices) -> Self {
        let of_host = devices.iter().filter(|device| device.kind.is_of_host());
        let of_host: Vec<String> = of_host.map(kind_name).collect();
        let catalog = catalog.with_host(|kind| of_host.contains(&kind.name));
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

    pub(super) fn catalog(&self) -> &VariantCatalog {
        &self.catalog
    }

    /// Converts money of plans to the operator's money.
    pub(super) fn money(&self, planned: f64) -> f64 {
        planned / self.scale
    }

    /// Returns a demand in the units of plans.
    pub(super) fn demand(&self, demand: &TaskDemand) -> TaskDemand {
        TaskDemand {
            goals: self.goals(&demand.goals),
            worth: self.worths[usize::from(demand.task.0)],
            ..demand.clone()
        }
    }

    /// Returns a stream in the units of plans.
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
