//! The program of one task: its variables, and a lower bound of their cost.

use super::super::load::TaskLoad;
use super::super::served::{DemandFlow, served_value};
use super::super::situation::Situation;
use super::ProgramTerms;
use crate::variants::{TaskIndex, VariantIndex};

/// The cost of an unserved query per second, as a multiple of the most expensive one: an instance is
/// worth its cost even for a millionth of its rate.
const UNSERVED: f64 = 1e6;

/// A variable: the number of instances of a variant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub(super) variant: VariantIndex,
    /// Its place within the task.
    pub(super) at: usize,
    /// The rate of an instance.
    pub(super) rate: f64,
    /// The running instances.
    runs: u32,
    /// The cost of an instance, and of loading it.
    cost: f64,
    loading: f64,
}

impl Variable {
    /// Returns the cost of `count` instances.
    pub(super) fn cost(&self, count: u32) -> f64 {
        let more = count.saturating_sub(self.runs);
        f64::from(count) * self.cost + f64::from(more) * self.loading
    }

    /// Returns a lower bound of the cost of a query per second.
    fn price(&self) -> f64 {
        self.cost(1) / self.rate
    }
}

/// The demands of a task and its variables, from the cheapest price of a query to the most
/// expensive.
pub(super) struct TaskProgram {
    pub(super) variables: Vec<Variable>,
    demands: Vec<DemandFlow>,
    /// `[variables + 1, demands]`: the least cost of a query of each demand, with variables from
    /// this one on.
    prices: Vec<Vec<f64>>,
    width: usize,
}

impl TaskProgram {
    pub(super) fn new(situation: &Situation<'_>, task: TaskIndex, terms: &ProgramTerms) -> Self {
        let (slack, lambda) = (terms.slack, terms.lambda);
        let load = TaskLoad::new(situation, task, slack);
        let mut variables: Vec<Variable> = load
            .suiting_any()
            .map(|variant| variable(situation, task, variant, lambda))
            .filter(|variable| variable.rate > 0.0)
            .collect();
        variables.sort_by(|a, b| a.price().total_cmp(&b.price()));
        let dearest = variables.iter().map(Variable::price).fold(0.0, f64::max);
        let width = situation.catalog.range(task).len();
        let demands = load.into_flows();
        let mut prices = vec![vec![UNSERVED * dearest; demands.len()]];
        for variable in variables.iter().rev() {
            let after = prices.last().into_iter().flatten().zip(&demands);
            let least = after.map(
                |(price, demand)| match demand.suiting.contains(&variable.at) {
                    true => price.min(variable.price()),
                    false => *price,
                },
            );
            let least = least.collect();
            prices.push(least);
        }
        prices.reverse();
        TaskProgram {
            variables,
            demands,
            prices,
            width,
        }
    }

    /// Returns the capacity of no instances.
    pub(super) fn no_capacity(&self) -> Vec<f64> {
        vec![0.0; self.width]
    }

    /// Returns a lower bound of the cost of the demands that a capacity leaves unserved, with
    /// variables from this one on. Without any, it is the cost of leaving them unserved.
    ///
    /// It is the cost with fractions of instances: the capacity serves the demands that are the
    /// most expensive to serve otherwise.
    pub(super) fn bound(&self, from: usize, capacity: &[f64]) -> f64 {
        let priced = self.demands.iter().zip(&self.prices[from]);
        let all: f64 = priced
            .clone()
            .map(|(demand, price)| demand.rate * price)
            .sum();
        let mut flows: Vec<DemandFlow> = priced
            .map(|(demand, price)| DemandFlow {
                worth: *price,
                ..demand.clone()
            })
            .collect();
        flows.sort_by(|a, b| b.worth.total_cmp(&a.worth));
        let nothing = vec![0.0; capacity.len()];
        (all - served_value(&flows, capacity, &nothing)).max(0.0)
    }

    /// Returns the most instances of a variable that serve queries in addition to a capacity.
    pub(super) fn useful(&self, variable: &Variable, capacity: &[f64]) -> u32 {
        let nothing = vec![0.0; capacity.len()];
        let served = |capacity: &[f64]| served_value(&self.demands, capacity, &nothing);
        let mut more = capacity.to_vec();
        more[variable.at] = self.demands.iter().map(|demand| demand.rate).sum();
        let gain = served(&more) - served(capacity);
        (gain / variable.rate - 1e-9).ceil().max(0.0) as u32
    }
}

fn variable(
    situation: &Situation<'_>,
    task: TaskIndex,
    variant: VariantIndex,
    lambda: f64,
) -> Variable {
    let spec = situation.catalog.variant(variant);
    Variable {
        variant,
        at: variant.get() - situation.catalog.range(task).start,
        rate: spec.saturation().get(),
        runs: situation.hosted.total(variant),
        cost: spec.profile.cost.get(),
        loading: lambda * spec.profile.loading.as_secs_f64(),
    }
}
