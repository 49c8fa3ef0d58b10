//! Branch and bound over the instances of all variants.

use std::ops::Range;

use super::super::situation::Situation;
use super::ProgramTerms;
use super::task::{TaskProgram, Variable};
use crate::placement::{DeviceSlot, HostedInstances};
use crate::variants::{DeviceKindIndex, VariantIndex};

/// The relative difference of costs that is rounding.
const ROUNDING: f64 = 1e-12;

/// The solution of a program.
#[derive(Clone, Debug)]
pub struct ProgramPlan {
    /// The instances.
    pub hosted: HostedInstances,
    /// Whether no other plan costs less, given that each instance is placed on the device with the
    /// least room left. Otherwise the search ran out of steps.
    pub is_optimal: bool,
    /// The kinds of devices without room for an instance of the plan on unlimited devices, once for
    /// each such instance.
    pub lacking: Vec<DeviceKindIndex>,
}

/// Returns the instances with the lowest cost by INFaaS's integer program, found in a limited
/// number of steps. The result is deterministic.
///
/// First each task is solved alone, on unlimited devices. If these plans fit together, they are
/// the solution. Otherwise the search covers all tasks, starting with the plans of one task after
/// another, and uses the costs of the plans alone as lower bounds.
pub fn cheapest_plan(situation: &Situation<'_>, terms: &ProgramTerms) -> ProgramPlan {
    let steps = terms.steps;
    let tasks = situation.catalog.tasks();
    let tasks = tasks.map(|task| TaskProgram::new(situation, task, terms));
    let tasks: Vec<TaskProgram> = tasks.filter(|task| !task.variables.is_empty()).collect();
    let mut program = JointProgram {
        steps: steps / 3 / tasks.len().max(1) as u32,
        least: vec![0.0; tasks.len() + 1],
        situation,
        tasks,
    };
    let (alone, is_solved) = program.solve_alone();
    let counts: Vec<(VariantIndex, u32)> = alone.concat();
    let (hosted, lacking) = program.placed(&counts);
    if lacking.is_empty() {
        let is_optimal = is_solved;
        return ProgramPlan {
            hosted,
            is_optimal,
            lacking,
        };
    }
    let (hosted, is_optimal) = program.solve_together(steps / 3);
    ProgramPlan {
        hosted,
        is_optimal,
        lacking,
    }
}

/// The tasks of a program, with the steps for each.
struct JointProgram<'a> {
    situation: &'a Situation<'a>,
    tasks: Vec<TaskProgram>,
    /// A lower bound of the cost of the tasks from each one on.
    least: Vec<f64>,
    steps: u32,
}

impl JointProgram<'_> {
    /// Solves each task alone, on unlimited devices, and takes the costs as lower bounds. Returns
    /// the instances of each, and whether all were solved.
    fn solve_alone(&mut self) -> (Vec<Vec<(VariantIndex, u32)>>, bool) {
        let (mut counts, mut is_solved) = (Vec::new(), true);
        let mut costs = Vec::new();
        for at in 0..self.tasks.len() {
            let search = Search::new(self, at..at + 1, None, self.steps).run();
            let task = &self.tasks[at];
            let bound = task.bound(0, &task.no_capacity());
            costs.push(if search.is_over { search.cost } else { bound });
            is_solved &= search.is_over;
            counts.push(search.counts);
        }
        for at in (0..self.tasks.len()).rev() {
            self.least[at] = self.least[at + 1] + costs[at];
        }
        (counts, is_solved)
    }

    /// Solves all tasks on the devices. Returns the best plan found, and whether no other costs
    /// less.
    fn solve_together(&self, steps: u32) -> (HostedInstances, bool) {
        let (mut first, mut cost) = (self.empty(), 0.0);
        for at in 0..self.tasks.len() {
            let hosted = Some(first.clone());
            let search = Search::new(self, at..at + 1, hosted, self.steps).run();
            cost += search.cost;
            first = search.plan.unwrap_or(first);
        }
        let all = 0..self.tasks.len();
        let mut search = Search::new(self, all, Some(self.empty()), steps);
        search.cost = cost;
        let search = search.run();
        (search.plan.unwrap_or(first), search.is_over)
    }

    fn empty(&self) -> HostedInstances {
        let running = self.situation.hosted;
        let kinds: Vec<DeviceKindIndex> = running.devices().map(|d| running.kind(d)).collect();
        let mut hosted = HostedInstances::new(self.situation.catalog, &kinds);
        for device in running.devices() {
            hosted.set_open(device, running.is_open(device));
        }
        hosted
    }

    /// Places instances on empty devices, those that run first. Returns them, and the kinds of
    /// devices without room.
    fn placed(&self, counts: &[(VariantIndex, u32)]) -> (HostedInstances, Vec<DeviceKindIndex>) {
        let mut hosted = self.empty();
        let mut more = Vec::new();
        for (variant, count) in counts {
            let mut stay = 0..*count;
            let placed =
                stay.position(|_| self.place_where_it_runs(&mut hosted, *variant).is_none());
            let placed = placed.map_or(*count, |placed| placed as u32);
            more.push((*variant, count - placed));
        }
        let mut lacking = Vec::new();
        for (variant, count) in more {
            for _ in 0..count {
                if self.place(&mut hosted, variant).is_none() {
                    lacking.push(self.situation.catalog.variant(variant).device);
                }
            }
        }
        (hosted, lacking)
    }

    /// Places an instance on a device that runs one, else on the device with the least room left.
    fn place(&self, hosted: &mut HostedInstances, variant: VariantIndex) -> Option<DeviceSlot> {
        if let Some(device) = self.place_where_it_runs(hosted, variant) {
            return Some(device);
        }
        let catalog = self.situation.catalog;
        let device = hosted.best_fit(catalog, variant)?;
        hosted.add(catalog, variant, device).ok().map(|()| device)
    }

    fn place_where_it_runs(
        &self,
        hosted: &mut HostedInstances,
        variant: VariantIndex,
    ) -> Option<DeviceSlot> {
        let (catalog, running) = (self.situation.catalog, self.situation.hosted);
        let device = hosted.devices().find(|device| {
            running.count_on(variant, *device) > hosted.count_on(variant, *device)
                && hosted.fits(catalog, variant, *device)
        })?;
        hosted.add(catalog, variant, device).ok().map(|()| device)
    }
}

/// A point of the search: a variable of a task, and the cost of the instances so far.
type SearchPoint = (usize, usize, f64);

/// A decided variable.
struct DecidedVariable {
    task: usize,
    at: usize,
    count: u32,
    /// The cost before it.
    cost: f64,
    /// The devices of its instances.
    devices: Vec<DeviceSlot>,
}

/// A search over some tasks.
struct Search<'p> {
    program: &'p JointProgram<'p>,
    tasks: Range<usize>,
    /// The instances so far, or `None` on unlimited devices.
    hosted: Option<HostedInstances>,
    /// The capacity so far of each task.
    capacity: Vec<Vec<f64>>,
    decided: Vec<DecidedVariable>,
    /// The lowest cost found, and its instances.
    cost: f64,
    counts: Vec<(VariantIndex, u32)>,
    plan: Option<HostedInstances>,
    steps: u32,
    /// Whether the search ended before it ran out of steps.
    is_over: bool,
}

impl<'p> Search<'p> {
    fn new(
        program: &'p JointProgram<'p>,
        tasks: Range<usize>,
        hosted: Option<HostedInstances>,
        steps: u32,
    ) -> Self {
        Search {
            capacity: program.tasks.iter().map(TaskProgram::no_capacity).collect(),
            decided: Vec::new(),
            cost: f64::INFINITY,
            counts: Vec::new(),
            plan: None,
            is_over: false,
            program,
            tasks,
            hosted,
            steps,
        }
    }

    /// Tries all numbers of instances, depth first, until it is over or out of steps.
    fn run(mut self) -> Self {
        let mut next = Some((self.tasks.start, 0, 0.0));
        while let Some(point) = next {
            next = self.descend(point).or_else(|| self.next_count());
        }
        self.is_over = self.steps > 0;
        self
    }

    /// Decides the variable at a point. Returns the next point, or `None` if no plan from this
    /// point on costs less than the best one.
    fn descend(&mut self, (task, at, cost): SearchPoint) -> Option<SearchPoint> {
        if task == self.tasks.end {
            self.offer(cost);
            return None;
        }
        let program = self.program;
        let left = program.tasks[task].bound(at, &self.capacity[task]);
        let later = program.least[task + 1] - program.least[self.tasks.end];
        let is_worse = cost + left + later >= self.cost * (1.0 - ROUNDING);
        // The first descent always ends with a plan.
        let has_plan = self.cost.is_finite();
        if is_worse || (has_plan && self.steps == 0) {
            return None;
        }
        self.steps -= u32::from(has_plan);
        match program.tasks[task].variables.get(at) {
            Some(variable) => Some(self.decide((task, at, cost), variable)),
            None => Some((task + 1, 0, cost + left)),
        }
    }

    /// Takes the most useful instances of a variable that have room.
    fn decide(&mut self, (task, at, cost): SearchPoint, variable: &Variable) -> SearchPoint {
        let useful = self.program.tasks[task].useful(variable, &self.capacity[task]);
        let mut devices: Vec<DeviceSlot> = Vec::new();
        let mut count = 0;
        while count < useful && self.place(variable.variant, &mut devices) {
            count += 1;
        }
        self.decided.push(DecidedVariable {
            task,
            at,
            count,
            cost,
            devices,
        });
        self.take((task, at, cost), variable, count)
    }

    /// Takes one instance less of the last variable that has one. Returns the next point, or `None`
    /// if all numbers were tried.
    fn next_count(&mut self) -> Option<SearchPoint> {
        loop {
            let mut last = self.decided.pop()?;
            let variable = &self.program.tasks[last.task].variables[last.at];
            if last.count == 0 || self.steps == 0 {
                self.remove(variable, &last.devices);
                self.capacity[last.task][variable.at] = 0.0;
                continue;
            }
            last.count -= 1;
            let removed = last.devices.pop();
            self.remove(variable, removed.as_slice());
            let (point, count) = ((last.task, last.at, last.cost), last.count);
            self.decided.push(last);
            return Some(self.take(point, variable, count));
        }
    }

    fn take(
        &mut self,
        (task, at, cost): SearchPoint,
        variable: &Variable,
        count: u32,
    ) -> SearchPoint {
        self.capacity[task][variable.at] = f64::from(count) * variable.rate;
        (task, at + 1, cost + variable.cost(count))
    }

    /// Places an instance. Returns whether it has room.
    fn place(&mut self, variant: VariantIndex, devices: &mut Vec<DeviceSlot>) -> bool {
        let Some(hosted) = &mut self.hosted else {
            return true;
        };
        let device = self.program.place(hosted, variant);
        devices.extend(device);
        device.is_some()
    }

    fn remove(&mut self, variable: &Variable, devices: &[DeviceSlot]) {
        let catalog = self.program.situation.catalog;
        let Some(hosted) = &mut self.hosted else {
            return;
        };
        for device in devices {
            let removed = hosted.remove(catalog, variable.variant, *device);
            debug_assert!(removed.is_ok(), "it was placed");
        }
    }

    /// Keeps the decided instances if they cost less than the best ones.
    fn offer(&mut self, cost: f64) {
        if cost.is_nan() || cost >= self.cost * (1.0 - ROUNDING) {
            return;
        }
        self.cost = cost;
        self.plan = self.hosted.clone();
        let taken = self.decided.iter().filter(|decision| decision.count > 0);
        let counts = taken.map(|decision| {
            let task = &self.program.tasks[decision.task];
            (task.variables[decision.at].variant, decision.count)
        });
        self.counts = counts.collect();
    }
}
