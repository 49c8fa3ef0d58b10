//! The numbers used to evaluate plans, computed once for all variants.

use std::ops::Range;
use std::time::Duration;

use crate::goals::LatencyGoal;
use crate::placement::DeviceSlot;
use crate::policies::served::DemandFlow;
use crate::policies::situation::{SLACK, Situation, TaskDemand};
use crate::variants::{Variant, VariantIndex};

/// The share of its planned rate that an instance counts with if other instances of its device
/// interfere with it.
const INTERFERED: f64 = 0.7;
/// The least share of its saturation that an instance counts with, whatever its queries may wait.
const LEAST_PART: f64 = 0.3;

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
    /// The planned rate of an undisturbed instance of each variant in queries per second.
    pub(super) usable: Vec<f64>,
    /// For each variant, the times of its batch, and the latency that its queries allow.
    pub(super) turns: Vec<Turn>,
    /// The worth of an answer of each variant in addition to that of an answer within its goals.
    pub(super) bonus: Vec<f64>,
}

/// The times of a batch on an undisturbed device, and the shortest latency goal of its queries.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    takes: Duration,
    p99: Duration,
    goal: Option<LatencyGoal>,
}

impl Turn {
    /// Returns whether each variant can wait for a batch of the other on a device with this
    /// slowdown.
    pub(super) fn goes_with(&self, other: &Turn, slowdown: f64) -> bool {
        let waits =
            |one: &Turn, behind: &Turn| behind.takes.mul_f64(slowdown) <= one.spare(slowdown);
        waits(self, other) && waits(other, self)
    }

    /// Returns how long the queries may wait for another variant's batch.
    fn spare(&self, slowdown: f64) -> Duration {
        let left = |goal: LatencyGoal| goal.get().saturating_sub(self.p99.mul_f64(slowdown));
        self.goal.map_or(Duration::MAX, left)
    }

    /// Returns whether even queries that do not wait are late.
    fn is_late(&self, slowdown: f64) -> bool {
        self.goal
            .is_some_and(|goal| self.p99.mul_f64(slowdown) > goal.get())
    }
}

/// The inputs of a plan's value.
pub(super) struct PlanModel<'a> {
    pub(super) situation: &'a Situation<'a>,
    pub(super) objective: PlanObjective,
    pub(super) tasks: Vec<TaskModel>,
    /// `[devices, variants]`: the planned rate of an instance relative to an undisturbed one, or
    /// empty if all are undisturbed.
    parts: Vec<f64>,
    /// The slowdown of each device relative to the calmest one of its kind.
    slowdowns: Vec<f64>,
}

impl<'a> PlanModel<'a> {
    /// Returns a variant's turn on shared devices.
    pub(super) fn turn(&self, variant: VariantIndex) -> &Turn {
        let task = self.situation.catalog.task_of(variant);
        let task = &self.tasks[usize::from(task.0)];
        &task.turns[variant.get() - task.range.start]
    }

    pub(super) fn new(situation: &'a Situation<'a>, objective: &PlanObjective) -> Self {
        let tasks = situation.catalog.tasks().map(|task| {
            let asked = situation.demands.iter().filter(|d| d.task == task);
            let range = situation.catalog.range(task);
            TaskModel::new(situation, objective, range, asked.collect())
        });
        let devices = situation.hosted.devices();
        let slowdowns = devices.map(|device| situation.relative_slowdown(device));
        let mut model = PlanModel {
            slowdowns: slowdowns.collect(),
            situation,
            objective: *objective,
            tasks: tasks.collect(),
            parts: Vec::new(),
        };
        model.parts = model.disturbed_parts();
        model
    }

    /// Returns the planned rate of an instance on a device relative to an undisturbed one.
    pub(super) fn part(&self, variant: VariantIndex, device: DeviceSlot) -> f64 {
        let width = self.situation.catalog.variants().len();
        let at = usize::from(device.0) * width + variant.get();
        self.parts.get(at).copied().unwrap_or(1.0)
    }

    /// Returns the slowdown of a device relative to the calmest one of its kind.
    pub(super) fn relative_slowdown(&self, device: DeviceSlot) -> f64 {
        let known = self.slowdowns.get(usize::from(device.0)).copied();
        known.unwrap_or(1.0)
    }

    /// Returns whether all devices are undisturbed and no instance is interfered.
    pub(super) fn is_calm(&self) -> bool {
        self.parts.is_empty()
    }

    fn disturbed_parts(&self) -> Vec<f64> {
        let devices = || self.situation.hosted.devices();
        let is_seen = |device| {
            let hosted = self.situation.hosted.hosted_on(device);
            let mut variants = hosted.map(|(variant, _)| variant);
            self.situation.is_disturbed(device)
                || variants.any(|variant| self.situation.is_interfered(variant, device))
        };
        if !devices().any(is_seen) {
            return Vec::new();
        }
        let count = self.situation.catalog.variants().len() as u32;
        let pairs =
            devices().flat_map(|device| (0..count).map(move |at| (device, VariantIndex(at))));
        pairs
            .map(|(device, variant)| self.disturbed_part(variant, device))
            .collect()
    }

    /// Returns the part that a disturbed instance counts with. A disturbed device counts with none
    /// of its time for queries that it would answer late and a calmer device in time.
    fn disturbed_part(&self, variant: VariantIndex, device: DeviceSlot) -> f64 {
        let slowdown = self.situation.slowdown(device);
        let turn = self.turn(variant);
        let least = slowdown / self.relative_slowdown(device);
        if turn.is_late(slowdown) && !turn.is_late(least) {
            return 0.0;
        }
        match slowdown > 1.0 {
            true => 1.0 / slowdown,
            false if self.situation.is_interfered(variant, device) => INTERFERED,
            false => 1.0,
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
        let usable = variants
            .iter()
            .map(|variant| usable(objective, variant, &asked));
        let usable = usable.collect();
        let turns = variants.iter().map(|variant| Turn {
            takes: variant.mean(),
            p99: variant.p99(),
            goal: tightest(variant, &asked),
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
/// length s, where P(wait > t) = exp(-2 (1 - load) t / s) (Kingman 1962).
fn usable(objective: &PlanObjective, variant: &Variant, asked: &[&TaskDemand]) -> f64 {
    let tightest = tightest(variant, asked);
    let mut part = 1.0 / objective.slack.max(1.0);
    if let Some(goal) = tightest.filter(|_| objective.waits) {
        let left = goal.get().saturating_sub(variant.p99()).as_secs_f64();
        let one = variant.mean().as_secs_f64() / f64::from(variant.profile.lanes.get());
        let load = 1.0 - 100_f64.ln() * one / (2.0 * left.max(1e-9));
        part = part.min(load.max(LEAST_PART));
    }
    part * variant.saturation().get()
}
