//! The change from the running instances to a plan without reducing the capacity of a task:
//! replaced instances stay until their replacement is loaded.

use crate::placement::{DeviceSlot, HostedInstances};
use crate::policies::situation::Situation;
use crate::variants::{TaskIndex, VariantIndex};

/// Returns whether a plan loads an instance for a task on any device, or an instance is loading.
pub(super) fn is_replaced(
    situation: &Situation<'_>,
    plan: &HostedInstances,
    task: TaskIndex,
) -> bool {
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
pub(super) fn keep_until_replaced(situation: &Situation<'_>, plan: &mut HostedInstances) {
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
