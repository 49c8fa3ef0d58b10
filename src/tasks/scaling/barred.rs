//! Changes that were rolled back and are not repeated for a while.

use std::time::Duration;

use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::policies::{ActionOutcome, ConsideredAction, ScalingAction};
use divisi_modelless::variants::{TaskIndex, VariantCatalog, VariantIndex};

use super::affected::{HostedPlace, only_in};

/// The time for which a rolled back change is not repeated.
const BARRED: Duration = Duration::from_secs(300);

/// Changes that did worse than the previous instances.
#[derive(Clone, Debug, Default)]
pub struct BarredChanges(Vec<BarredChange>);

#[derive(Clone, Debug)]
struct BarredChange {
    until: Duration,
    came: Vec<HostedPlace>,
    left: Vec<HostedPlace>,
}

impl BarredChanges {
    /// Bars a change for a while.
    pub(super) fn bar(&mut self, now: Duration, before: &HostedInstances, after: &HostedInstances) {
        self.0.retain(|barred| now < barred.until);
        self.0.push(BarredChange {
            until: now + BARRED,
            came: only_in(after, before),
            left: only_in(before, after),
        });
    }

    /// Allows variants again that are needed, so that no bar makes queries miss their goals.
    pub(super) fn lift_needed(&mut self, is_needed: impl Fn(VariantIndex) -> bool) {
        for barred in &mut self.0 {
            barred.came.retain(|(_, variant)| !is_needed(*variant));
        }
    }

    /// Allows the last barred change again.
    pub(super) fn lift_last(&mut self) {
        self.0.pop();
    }

    fn at(&self, now: Duration) -> impl Iterator<Item = &BarredChange> {
        self.0.iter().filter(move |barred| now < barred.until)
    }

    /// Returns the wanted instances without barred changes. A task with an instance keeps one.
    pub fn allowed(
        &self,
        now: Duration,
        catalog: &VariantCatalog,
        hosted: &HostedInstances,
        mut wanted: HostedInstances,
    ) -> HostedInstances {
        for barred in self.at(now) {
            for &(device, variant) in &barred.came {
                while comes(hosted, variant, device)
                    && wanted.remove(catalog, variant, device).is_ok()
                {}
            }
            for &(device, variant) in &barred.left {
                if hosted.count_on(variant, device) > 0 && wanted.count_on(variant, device) == 0 {
                    // If there is no more room, other instances have to answer.
                    let _ = wanted.add(catalog, variant, device);
                }
            }
        }
        let tasks = catalog.tasks();
        tasks.for_each(|task| keep_one(catalog, task, hosted, &mut wanted));
        wanted
    }

    /// Returns the considered actions with the outcome of barred ones adjusted.
    pub fn considered(
        &self,
        now: Duration,
        hosted: &HostedInstances,
        considered: &[ConsideredAction],
    ) -> Vec<ConsideredAction> {
        let outcome = |of: &ConsideredAction| {
            let barred = self.until(now, hosted, of.action);
            match (of.outcome, barred) {
                (ActionOutcome::Taken, Some(until)) => ActionOutcome::TakenBack(until),
                (ActionOutcome::HoldOff(from), Some(until)) if from < until => {
                    ActionOutcome::TakenBack(until)
                }
                (other, _) => other,
            }
        };
        let each = considered.iter().map(|of| ConsideredAction {
            outcome: outcome(of),
            ..*of
        });
        each.collect()
    }

    /// Returns the time from which an action is allowed again, or `None` if it is allowed now.
    fn until(
        &self,
        now: Duration,
        hosted: &HostedInstances,
        action: ScalingAction,
    ) -> Option<Duration> {
        let is_barred = |barred: &&BarredChange| match action {
            ScalingAction::Switch(variant, _) | ScalingAction::Replicate(variant, _) => {
                let mut came = barred.came.iter();
                came.any(|&(d, v)| v == variant && comes(hosted, variant, d))
            }
            ScalingAction::Remove(variant, fewer) => {
                // The last instance on a device stays.
                let stays = |device| (1..=fewer).contains(&hosted.count_on(variant, device).into());
                barred.left.iter().any(|&(d, v)| v == variant && stays(d))
            }
            ScalingAction::Keep | ScalingAction::Move(_) => false,
        };
        let barred = self.at(now).filter(is_barred);
        barred.map(|barred| barred.until).max()
    }
}

/// Returns whether an instance would be the first one of a variant on a device.
fn comes(hosted: &HostedInstances, variant: VariantIndex, device: DeviceSlot) -> bool {
    hosted.count_on(variant, device) == 0
}

/// Adds a running instance of a task to a plan that would leave the task without any.
fn keep_one(
    catalog: &VariantCatalog,
    task: TaskIndex,
    hosted: &HostedInstances,
    wanted: &mut HostedInstances,
) {
    let variants = || catalog.range(task).map(|at| VariantIndex(at as u32));
    if variants().any(|variant| wanted.total(variant) > 0) {
        return;
    }
    for device in hosted.devices() {
        for variant in variants().filter(|variant| hosted.count_on(*variant, device) > 0) {
            let _ = wanted.add(catalog, variant, device);
        }
    }
}
