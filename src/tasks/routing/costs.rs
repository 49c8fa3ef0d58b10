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
mod tests {
    use divisi_modelless::quantities::{CostRate, QuantityError};

    use super::super::counts::VariantName;
    use super::super::tally::VariantTally;
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn core(price_an_hour: f64) -> Result<[PricedDevice; 1], QuantityError> {
        Ok([PricedDevice {
            name: "1 core".to_owned(),
            price: CostRate::new(price_an_hour / 3600.0)?,
            memory: 0,
        }])
    }

    /// The default price of a core.
    fn paying() -> Result<PaidCosts, QuantityError> {
        let (mut paid, kinds) = (PaidCosts::default(), ["1 core", "1 core", "a GPU"]);
        paid.pay(
            Duration::ZERO,
            kinds.map(str::to_owned).into_iter(),
            &core(0.04)?,
        );
        Ok(paid)
    }

    #[test]
    fn two_cores_at_the_default_price_cost_22_millionths_a_second() -> Result<(), QuantityError> {
        let mut paid = paying()?;
        let cost = paid.until(SECOND)["1 core"];
        assert!((2.2e-5..2.3e-5).contains(&cost), "{cost}");
        // A GPU without a registered price is not counted.
        assert_eq!(paid.until(SECOND).len(), 1);
        // Another price applies from then on.
        paid.pay(SECOND, ["1 core".to_owned()].into_iter(), &core(3600.0)?);
        let later = paid.until(3 * SECOND)["1 core"];
        assert!((later - cost - 2.0).abs() < 1e-9, "{later}");
        Ok(())
    }

    fn answered(task: &str, samples: u64, cost: f64) -> (VariantName, VariantTally) {
        let name = VariantName {
            task: task.to_owned(),
            entry: format!("{task}.f32.all"),
            batch: 8,
        };
        let tally = VariantTally {
            samples,
            cost,
            ..VariantTally::default()
        };
        (name, tally)
    }

    #[test]
    fn queries_share_the_price_of_the_devices_in_the_window() {
        let mut window = CostWindow::default();
        for second in 0..200_u32 {
            // Two queries a second of `a`, and one of `b` that costs twice as much.
            let samples = u64::from(second);
            let cost = f64::from(second) * 1e-9;
            let variants = [
                answered("a", 2 * samples, cost),
                answered("b", samples, cost),
                answered("c", 0, 0.0),
            ];
            let counts = TaskCounts {
                variants: variants.into(),
                ..TaskCounts::default()
            };
            window.add(second * SECOND, f64::from(second) * 1e-3, &counts);
        }
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        let cost = |task: &str| window.cost(task);
        let a = cost("a");
        let is_right = |a: TaskCost| near(a.paid, 250.0) && near(a.saturated, 5e-4);
        assert!(a.is_some_and(is_right), "{a:?}");
        assert_eq!(a.map(|a| a.window), Some(COST_WINDOW));
        let b = cost("b").map(|b| b.paid);
        assert!(b.is_some_and(|paid| near(paid, 500.0)), "{b:?}");
        assert_eq!(cost("c"), None, "it was not asked");
    }
}
