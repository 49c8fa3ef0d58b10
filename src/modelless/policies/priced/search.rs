//! The search for a plan: starts from the running instances and from an empty plan, and rebuilds
//! parts.

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::model::{PlanModel, PlanObjective};
use super::moves::{Criterion, SOME};
use super::state::PlanState;
use crate::placement::{DeviceSlot, HostedInstances};
use crate::policies::situation::Situation;

/// The number of rebuilt parts: 60 000 random small plans were within 2 % of the best
/// (`tests/modelless/plans.rs`).
const ROUNDS: u32 = 200;

/// Returns the value of a plan by its definition, in money per second.
pub fn plan_value(
    situation: &Situation<'_>,
    objective: &PlanObjective,
    plan: &HostedInstances,
) -> f64 {
    let model = PlanModel::new(situation, objective);
    PlanState::new(&model, plan.clone()).total()
}

/// Returns a plan of high value: the instances to run on the situation's devices. The result is
/// deterministic.
pub fn plan(situation: &Situation<'_>, objective: &PlanObjective) -> HostedInstances {
    let model = PlanModel::new(situation, objective);
    let mut best = PlanState::new(&model, situation.hosted.clone());
    best.prune();
    best.fill(Criterion::ValueByCost);
    for criterion in Criterion::ALL {
        let mut fresh = PlanState::new(&model, emptied(situation));
        fresh.fill(criterion);
        fresh.prune();
        keep_better(&mut best, fresh);
    }
    let mut random = ChaCha8Rng::seed_from_u64(0);
    for _ in 0..ROUNDS {
        let mut trial = best.clone();
        tear_down(&mut trial, &mut random);
        for _ in 0..random.random_range(0..3) {
            trial.add_any(&mut random);
        }
        trial.fill(
            *Criterion::ALL
                .choose(&mut random)
                .unwrap_or(&Criterion::Value),
        );
        trial.prune();
        keep_better(&mut best, trial);
    }
    // Each round raises the value; the bound prevents endless gains from rounding.
    for _ in 0..ROUNDS {
        if !best.exchange() {
            break;
        }
    }
    best.hosted
}

fn emptied(situation: &Situation<'_>) -> HostedInstances {
    let mut hosted = situation.hosted.clone();
    let devices: Vec<DeviceSlot> = hosted.devices().collect();
    for device in devices {
        let there: Vec<_> = hosted.hosted_on(device).collect();
        for (variant, count) in there {
            for _ in 0..count {
                // The line above ensures that it exists.
                let removed = hosted.remove(situation.catalog, variant, device);
                debug_assert!(removed.is_ok());
            }
        }
    }
    hosted
}

fn keep_better<'m>(best: &mut PlanState<'m>, other: PlanState<'m>) {
    if other.total() > best.total() + SOME {
        *best = other;
    }
}

/// Removes all instances of a device, all of one or two tasks, or some random ones.
fn tear_down(state: &mut PlanState<'_>, random: &mut ChaCha8Rng) {
    let instances = state.instances();
    let Some((variant, device)) = instances.choose(random).copied() else {
        return;
    };
    let catalog = state.model.situation.catalog;
    let way = random.random_range(0..4);
    let second = instances.choose(random).map(|(v, _)| catalog.task_of(*v));
    for (v, d) in instances {
        let is_torn = match way {
            0 => d == device,
            1 => catalog.task_of(v) == catalog.task_of(variant),
            2 => {
                let task = catalog.task_of(v);
                task == catalog.task_of(variant) || Some(task) == second
            }
            _ => random.random_bool(0.3),
        };
        if is_torn {
            while state.remove(v, d) {}
        }
    }
}
