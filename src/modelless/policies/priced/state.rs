//! A plan during the search, with its value.

use super::model::{PlanModel, TaskModel};
use crate::placement::{DeviceSlot, HostedInstances};
use crate::policies::served::served_value;
use crate::variants::{DeviceSharing, VariantIndex};

/// A plan, its value, and the gain of one more instance of each variant.
#[derive(Clone)]
pub(super) struct PlanState<'m> {
    pub(super) model: &'m PlanModel<'m>,
    pub(super) hosted: HostedInstances,
    /// The worth of each task's served queries.
    values: Vec<f64>,
    /// The gain of one more instance of each variant in its task's value.
    gains: Vec<f64>,
    /// For each device, the variants that take turns on it.
    turns: Vec<Vec<VariantIndex>>,
    /// The cost of all instances, loading included.
    cost: f64,
}

impl<'m> PlanState<'m> {
    /// Creates the state of a plan.
    pub(super) fn new(model: &'m PlanModel<'m>, hosted: HostedInstances) -> Self {
        let mut state = PlanState {
            cost: cost(model, &hosted),
            values: vec![0.0; model.tasks.len()],
            gains: vec![0.0; model.situation.catalog.variants().len()],
            turns: vec![Vec::new(); hosted.devices().count()],
            model,
            hosted,
        };
        for device in state.hosted.devices() {
            state.update_turns(device);
        }
        for task in 0..model.tasks.len() {
            state.value(task);
        }
        state
    }

    /// Returns the plan's value: the worth of served queries minus all costs, per second.
    pub(super) fn total(&self) -> f64 {
        self.values.iter().sum::<f64>() - self.cost
    }

    /// Returns the gain in worth of one more undisturbed instance.
    pub(super) fn gain(&self, variant: VariantIndex) -> f64 {
        self.gains[variant.get()]
    }

    /// Returns the gain in worth of one more instance on a device.
    pub(super) fn gain_on(&self, variant: VariantIndex, device: DeviceSlot) -> f64 {
        let part = self.model.part(variant, device);
        if part == 1.0 {
            return self.gain(variant);
        }
        let at = usize::from(self.model.situation.catalog.task_of(variant).0);
        let task = &self.model.tasks[at];
        if task.demands.is_empty() {
            return 0.0;
        }
        let mut capacity = self.capacities(task);
        let place = variant.get() - task.range.start;
        capacity[place] += part * task.usable[place];
        served_value(&task.demands, &capacity, &task.bonus) - self.values[at]
    }

    /// Returns the cost of one more instance on a device.
    pub(super) fn price(&self, variant: VariantIndex, device: DeviceSlot) -> f64 {
        price(
            self.model,
            variant,
            device,
            self.hosted.count_on(variant, device),
        )
    }

    /// Adds an instance if it fits.
    pub(super) fn add(&mut self, variant: VariantIndex, device: DeviceSlot) -> bool {
        let price = self.price(variant, device);
        let catalog = self.model.situation.catalog;
        let added = self.hosted.add(catalog, variant, device).is_ok();
        if added {
            self.cost += price;
            self.update_turns(device);
            self.value_of(variant);
        }
        added
    }

    /// Removes an instance if there is one.
    pub(super) fn remove(&mut self, variant: VariantIndex, device: DeviceSlot) -> bool {
        let catalog = self.model.situation.catalog;
        let removed = self.hosted.remove(catalog, variant, device).is_ok();
        if removed {
            self.cost -= self.price(variant, device);
            self.update_turns(device);
            self.value_of(variant);
        }
        removed
    }

    /// Returns whether one more instance has room on a device, and neither it nor the instances
    /// that take turns with it would be late.
    pub(super) fn fits(&self, variant: VariantIndex, device: DeviceSlot) -> bool {
        let catalog = self.model.situation.catalog;
        let others = self.turns[usize::from(device.0)]
            .iter()
            .filter(|v| **v != variant);
        let turn = self.model.turn(variant);
        let slowdown = self.model.situation.slowdown(device);
        self.hosted.fits(catalog, variant, device)
            && others
                .into_iter()
                .all(|other| turn.goes_with(self.model.turn(*other), slowdown))
    }

    fn update_turns(&mut self, device: DeviceSlot) {
        let catalog = self.model.situation.catalog;
        let turns = &mut self.turns[usize::from(device.0)];
        turns.clear();
        let hosted = self.hosted.hosted_on(device).map(|(v, _)| v);
        turns.extend(hosted.filter(|v| catalog.variant(*v).profile.sharing.takes_turns()));
    }

    fn value_of(&mut self, variant: VariantIndex) {
        let task = self.model.situation.catalog.task_of(variant);
        self.value(usize::from(task.0));
    }

    fn value(&mut self, at: usize) {
        let task = &self.model.tasks[at];
        if task.demands.is_empty() {
            return;
        }
        let mut capacity = self.capacities(task);
        let value = served_value(&task.demands, &capacity, &task.bonus);
        self.values[at] = value;
        for variant in 0..capacity.len() {
            let before = capacity[variant];
            capacity[variant] += task.usable[variant];
            let more = served_value(&task.demands, &capacity, &task.bonus);
            self.gains[task.range.start + variant] = more - value;
            capacity[variant] = before;
        }
    }

    /// Returns the planned rate of each variant of a task.
    fn capacities(&self, task: &TaskModel) -> Vec<f64> {
        let variants = task.range.clone().map(|at| VariantIndex(at as u32));
        let counts = variants.map(|variant| self.effective(variant));
        counts
            .zip(&task.usable)
            .map(|(n, usable)| n * usable)
            .collect()
    }

    /// Returns the number of undisturbed instances with the same planned rate.
    fn effective(&self, variant: VariantIndex) -> f64 {
        if self.model.is_calm() {
            return f64::from(self.hosted.total(variant));
        }
        let devices = self.hosted.devices();
        let each = devices.map(|device| {
            let count = f64::from(self.hosted.count_on(variant, device));
            count * self.model.part(variant, device)
        });
        each.sum()
    }
}

/// Returns the cost of one more instance on a device that is planned to have `count`: its cost per
/// second, and its loading if it does not run there. Instances that share a device's time share
/// their weights, so that one loading is enough. The time of a disturbed device is worth less.
fn price(model: &PlanModel<'_>, variant: VariantIndex, device: DeviceSlot, count: u16) -> f64 {
    let profile = &model.situation.catalog.variant(variant).profile;
    let runs = model.situation.hosted.count_on(variant, device);
    let is_loaded = match profile.sharing {
        DeviceSharing::Space => runs > count,
        DeviceSharing::Time | DeviceSharing::Unreserved => runs > 0 || count > 0,
    };
    let loading = match is_loaded {
        true => 0.0,
        false => model.objective.lambda * profile.loading.as_secs_f64(),
    };
    let slowdown = model.relative_slowdown(device);
    profile.cost.get() * (model.objective.cost * slowdown + loading)
}

fn cost(model: &PlanModel<'_>, hosted: &HostedInstances) -> f64 {
    let devices = hosted.devices();
    let each = devices.flat_map(|device| {
        let on = hosted.hosted_on(device);
        on.flat_map(move |(v, n)| (0..n).map(move |count| price(model, v, device, count)))
    });
    each.sum()
}
