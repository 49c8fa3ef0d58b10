//! The change from the running instances to a plan: replaced instances stay until their replacement
//! is loaded, and superfluous ones until their hold-off is over.

use super::decision::{ActionOutcome, PolicyDecision, ScalingAction};
use super::hold_off::HoldOffs;
use super::situation::Situation;
use crate::placement::{DeviceSlot, HostedInstances};
use crate::variants::{TaskIndex, VariantIndex};

/// Returns the plan with replaced instances kept until their replacement is loaded, and with
/// recently used instances kept if they have room. Records the considered actions.
pub(super) fn settled(
    situation: &Situation<'_>,
    planned: HostedInstances,
    hold_offs: &mut HoldOffs,
    decision: &mut PolicyDecision,
) -> HostedInstances {
    let mut kept = planned;
    if !situation.rules.at_once {
        keep_until_replaced(situation, &mut kept);
    }
    for (index, _) in situation.hosted.running() {
        hold_off(situation, index, &mut kept, hold_offs, decision);
    }
    consider(situation, &kept, decision);
    kept
}

/// Keeps the instances of a variant whose hold-off is not over, on the calmest devices: an instance
/// on another one would slow down queries for as long.
fn hold_off(
    situation: &Situation<'_>,
    index: VariantIndex,
    kept: &mut HostedInstances,
    hold_offs: &mut HoldOffs,
    decision: &mut PolicyDecision,
) {
    let (catalog, hosted) = (situation.catalog, situation.hosted);
    let planned = kept.total(index);
    if planned >= hosted.total(index) {
        return hold_offs.needed(index);
    }
    let Some(from) = hold_offs.superfluous(situation, index) else {
        return;
    };
    let devices = hosted.devices();
    for device in devices.filter(|device| situation.relative_slowdown(*device) <= 1.0) {
        while kept.count_on(index, device) < hosted.count_on(index, device)
            && kept.add(catalog, index, device).is_ok()
        {}
    }
    let held = kept.total(index) - planned;
    if held == 0 {
        return;
    }
    let action = ScalingAction::Remove(index, held);
    let cost = -f64::from(held) * catalog.variant(index).profile.cost.get();
    let (task, outcome) = (catalog.task_of(index), ActionOutcome::HoldOff(from));
    decision.consider(task, action, cost, outcome);
}

/// Records the changes by variant, and the other variants that could have answered each task.
fn consider(situation: &Situation<'_>, plan: &HostedInstances, decision: &mut PolicyDecision) {
    for (demand, (index, variant)) in situation
        .demands
        .iter()
        .flat_map(|d| situation.suiting(d).map(move |v| (d, v)))
    {
        let (before, after) = (situation.hosted.total(index), plan.total(index));
        let (more, fewer) = (after.saturating_sub(before), before.saturating_sub(after));
        let (action, outcome) = match (before, more, fewer) {
            (0, 0, _) => (ScalingAction::Switch(index, 1), ActionOutcome::Beaten),
            (0, more, _) => (ScalingAction::Switch(index, more), ActionOutcome::Taken),
            (_, 0, 0) => continue,
            (_, 0, fewer) => (ScalingAction::Remove(index, fewer), ActionOutcome::Taken),
            (_, more, _) => (ScalingAction::Replicate(index, more), ActionOutcome::Taken),
        };
        let count = f64::from(after) - f64::from(before);
        let cost = count.abs().max(1.0).copysign(count) * variant.profile.cost.get();
        decision.consider(demand.task, action, cost, outcome);
    }
}

/// Returns whether a plan loads an instance for a task on any device, or an instance is loading.
fn is_replaced(situation: &Situation<'_>, plan: &HostedInstances, task: TaskIndex) -> bool {
    let variants = situation.catalog.range(task);
    let mut variants = variants.map(|at| VariantIndex(at as u32));
    let comes = |v: VariantIndex| {
        let mut devices = plan.devices();
        devices.any(|d| plan.count_on(v, d) > situation.hosted.count_on(v, d))
    };
    situation.is_loading(task) || variants.any(comes)
}

/// Keeps instances in a plan until their replacements are loaded. If a device has no room for both,
/// the new instance waits.
fn keep_until_replaced(situation: &Situation<'_>, plan: &mut HostedInstances) {
    let tasks = situation.catalog.tasks();
    let replaced = tasks.filter(|task| is_replaced(situation, plan, *task));
    let replaced: Vec<TaskIndex> = replaced.collect();
    let devices: Vec<DeviceSlot> = plan.devices().collect();
    for device in devices {
        let running = situation.hosted.hosted_on(device);
        let running = running.filter(|(v, _)| replaced.contains(&situation.catalog.task_of(*v)));
        for (variant, count) in running {
            while plan.count_on(variant, device) < count {
                if plan.add(situation.catalog, variant, device).is_err()
                    && !drop_one(situation, plan, device)
                {
                    break;
                }
            }
        }
    }
}

/// Drops a new instance of a device. Returns whether there was one.
fn drop_one(situation: &Situation<'_>, plan: &mut HostedInstances, device: DeviceSlot) -> bool {
    let comes = |(v, count): &(VariantIndex, u16)| *count > situation.hosted.count_on(*v, device);
    let coming = plan.hosted_on(device).find(comes);
    coming.is_some_and(|(v, _)| plan.remove(situation.catalog, v, device).is_ok())
}
