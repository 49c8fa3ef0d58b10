//! The cost of a server's devices, and its share for each query: see [`PaidCosts`].
//!
//! The registered cost of a query is that of a saturated device: its price for the time of a full
//! batch, divided by the batch. A device is paid for as long as it is held, so that at a low load a
//! query costs thousands of times more.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use divisi_modelless::quantities::COST_QUERIES;
use divisi_modelless::variants::PricedDevice;

use super::counts::TaskCounts;

/// The time over which the cost of queries at the present load is measured.
const COST_WINDOW: Duration = Duration::from_secs(60);

/// The money paid for each kind of device so far. It rises with time, whatever the load is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PaidCosts {
    paid: BTreeMap<String, f64>,
    /// The price of all devices of each kind, a second.
    rates: BTreeMap<String, f64>,
    since: Duration,
}

impl PaidCosts {
    /// Pays for devices of these kinds from a time on, at the prices of their kinds. Devices of kinds without
    /// a registered price are not counted.
    pub(super) fn pay(
        &mut self,
        now: Duration,
        kinds: impl Iterator<Item = String>,
        prices: &[PricedDevice],
    ) {
        self.paid = self.until(now);
        self.since = now;
        self.rates.clear();
        for name in kinds {
            if let Some(kind) = prices.iter().find(|kind| kind.name == name) {
                *self.rates.entry(name).or_default() += kind.price.get();
            }
        }
    }

    /// Returns the money paid for each kind of device until a time.
    pub(super) fn until(&self, now: Duration) -> BTreeMap<String, f64> {
        let held = now.saturating_sub(self.since).as_secs_f64();
        let mut paid = self.paid.clone();
        for (kind, rate) in &self.rates {
            *paid.entry(kind.clone()).or_default() += rate * held;
        }
        paid
    }
}

/// The cost of the queries of a task in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskCost {
    /// The paid cost of a million samples: the price of the held devices, shared over the answered
    /// samples. Tasks share it by the registered costs of their answers.
    pub paid: f64,
    /// The registered cost of a million samples, which is that of saturated devices.
    pub saturated: f64,
    /// The length of the window.
    pub window: Duration,
}

/// The counts at a time.
#[derive(Clone, Debug)]
struct CostMoment {
    at: Duration,
    paid: f64,
    /// The answered samples of each task, and their registered cost.
    tasks: BTreeMap<String, (u64, f64)>,
}

/// The counts of the last minute.
#[derive(Clone, Debug, Default)]
pub(super) struct CostWindow(VecDeque<CostMoment>);

impl CostWindow {
    /// Adds the counts at a time, and forgets those before the window.
    pub(super) fn add(&mut self, at: Duration, paid: f64, counts: &TaskCounts) {
        let mut tasks: BTreeMap<String, (u64, f64)> = BTreeMap::new();
        for (name, tally) in &counts.variants {
            let (samples, cost) = tasks.entry(name.task.clone()).or_default();
            *samples += tally.samples;
            *cost += tally.cost;
        }
        self.0.push_back(CostMoment { at, paid, tasks });
        while self.0.len() > 2 && self.0[1].at + COST_WINDOW <= at {
            self.0.pop_front();
        }
    }

    /// Returns the cost of a task's queries in the window, or `None` if none were answered.
    pub(super) fn cost(&self, task: &str) -> Option<TaskCost> {
        let (first, last) = (self.0.front()?, self.0.back()?);
        let of_task = |name: &str| {
            let (samples, cost) = last.tasks.get(name).copied()?;
            let (before, paid_before) = first.tasks.get(name).copied().unwrap_or_default();
            Some((samples.checked_sub(before)?, cost - paid_before))
        };
        let (samples, cost) = of_task(task).filter(|(samples, _)| *samples > 0)?;
        let all = last.tasks.keys().filter_map(|name| of_task(name));
        let all: f64 = all.map(|(_, cost)| cost).sum();
        let share = if all > 0.0 { cost / all } else { 1.0 };
        let million = |cost: f64| COST_QUERIES * cost / samples as f64;
        Some(TaskCost {
            paid: million(share * (last.paid - first.paid)),
            saturated: million(cost),
            window: last.at.saturating_sub(first.at),
        })
    }
}

#[cfg(test)]
#[path = "../../../tests/tasks/units/routing/costs.rs"]
mod tests;
