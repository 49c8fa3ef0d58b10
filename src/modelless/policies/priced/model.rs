//! The numbers used to evaluate plans, computed once for all variants.

use std::ops::Range;
use std::time::Duration;

use super::served::DemandFlow;
use crate::goals::LatencyGoal;
use crate::policies::situation::{SLACK, Situation, TaskDemand};
use crate::states::VariantState;
use crate::variants::{Variant, VariantIndex};

/// The objective of plans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanObjective {
    /// The ratio of capacity to load that a plan keeps, at least 1.
    pub slack: f64,
    /// The weight of the cost of instances; 0 if devices are paid for anyway.
    pub cost: f64,
    /// The multiple of its cost that an instance counts for each second of its loading.
    pub lambda: f64,
    /// The weight of the cost of queries, which is that of their instance time: among running
    /// instances, the cheaper ones answer.
    pub time: f64,
    /// The worth of a correct answer in addition to that of an answer within its goals.
    pub right_answer: f64,
    /// Whether plans keep headroom for waits behind other queries.
    pub waits: bool,
}

impl Default for PlanObjective {
    fn default() -> Self {
        PlanObjective {
            slack: SLACK,
            cost: 1.0,
            lambda: 1.0,
            time: 0.0,
            right_answer: 0.0,
            waits: true,
        }
    }
}

/// The demands and variants of a task in numbers.
pub(super) struct TaskModel {
    pub(super) range: Range<usize>,
    pub(super) demands: Vec<DemandFlow>,
    /// The planned rate of an instance of each variant in queries per second.
    pub(super) usable: Vec<f64>,
    /// For each variant, the time of its batch, and how long its queries may wait for others'
    /// batches.
    pub(super) turns: Vec<Turn>,
    /// The worth of an answer of each variant in addition to that of an answer within its goals.
    pub(super) bonus: Vec<f64>,
}

/// The time of a batch, and how long the queries of a variant may wait for another one's batch on a
/// shared device.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    takes: Duration,
    spare: Duration,
}

impl Turn {
    /// Returns whether each variant can wait for a batch of the other.
    pub(super) fn goes_with(&self, other: &Turn) -> bool {
        self.takes <= other.spare && other.takes <= self.spare
    }
}

/// The inputs of a plan's value.
pub(super) struct PlanModel<'a> {
    pub(super) situation: &'a Situation<'a>,
    pub(super) objective: PlanObjective,
    pub(super) tasks: Vec<TaskModel>,
}

impl<'a> PlanModel<'a> {
    /// Returns a variant's turn on shared devices.
    pub(super) fn turn(&self, variant: VariantIndex) -> &Turn {
        let task = self.situation.catalog.task_of(variant);
        let task = &self.tasks[usize::from(task.0)];
        &task.turns[variant.get() - task.range.start]
    }

    pub(super) fn new(situation: &'a Situation<'a>, objective: &PlanObjective) -> Self {
        let tasks = situation.catalog.tasks();
        PlanModel {
            situation,
            objective: *objective,
            tasks: tasks
                .map(|task| {
                    let asked = situation.demands.iter().filter(|d| d.task == task);
                    TaskModel::new(
                        situation,
                        objective,
                        situation.catalog.range(task),
                        asked.collect(),
                    )
                })
                .collect(),
        }
    }
}

impl TaskModel {
    fn new(
        situation: &Situation<'_>,
        objective: &PlanObjective,
        range: Range<usize>,
        mut asked: Vec<&TaskDemand>,
    ) -> Self {
        asked.sort_by(|a, b| b.worth.get().total_cmp(&a.worth.get()));
        let variants = &situation.catalog.variants()[range.clone()];
        let bonus: Vec<f64> = variants
            .iter()
            .map(|v| {
                let right = objective.right_answer * v.accuracy.value().get();
                right - objective.time * v.query_cost().get()
            })
            .collect();
        let usable = variants.iter().zip(range.clone()).map(|(variant, at)| {
            let state = situation.state(VariantIndex(at as u32));
            usable(objective, variant, state, &asked)
        });
        let usable = usable.collect();
        let turns = variants.iter().map(|variant| Turn {
            takes: variant.mean(),
            spare: tightest(variant, &asked).map_or(Duration::MAX, |goal| {
                goal.get().saturating_sub(variant.p99())
            }),
        });
        let turns = turns.collect();
        let flow = |demand: &&TaskDemand| {
            let suits = |at: &usize| demand.suits(&variants[*at]);
            let mut suiting: Vec<usize> = (0..variants.len()).filter(suits).collect();
            suiting.sort_by(|a, b| bonus[*b].total_cmp(&bonus[*a]));
            DemandFlow {
                rate: demand.rate.get(),
                worth: demand.worth.get(),
                suiting,
            }
        };
        TaskModel {
            demands: asked.iter().map(flow).collect(),
            usable,
            turns,
            bonus,
            range,
        }
    }
}

/// Returns the shortest latency goal of the queries that a variant suits.
fn tightest(variant: &Variant, asked: &[&TaskDemand]) -> Option<LatencyGoal> {
    let goals = asked.iter().filter(|d| d.suits(variant));
    goals.filter_map(|d| d.goals.latency).min()
}

/// Returns the planned rate of an instance in queries per second, with the slack, and such that 99
/// % of queries wait no longer than the shortest goal allows.
///
/// The wait follows the heavy-traffic approximation of a queue with one server and batches of fixed
/// length s, where P(wait > t) = exp(-2 (1 - load) t / s) (Kingman 1962). An instance with
/// interference has a lower planned rate, so that more instances are planned.
fn usable(
    objective: &PlanObjective,
    variant: &Variant,
    state: VariantState,
    asked: &[&TaskDemand],
) -> f64 {
    let tightest = tightest(variant, asked);
    let mut part = 1.0 / objective.slack.max(1.0);
    if let Some(goal) = tightest.filter(|_| objective.waits) {
        let left = goal.get().saturating_sub(variant.p99()).as_secs_f64();
        let one = variant.mean().as_secs_f64() / f64::from(variant.profile.lanes.get());
        let load = 1.0 - 100_f64.ln() * one / (2.0 * left.max(1e-9));
        part = part.min(load.max(0.3));
    }
    if state == VariantState::Interfered {
        part *= 0.7;
    }
    part * variant.saturation().get()
}
