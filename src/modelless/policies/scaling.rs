//! Steps shared by policies: placing and removing instances.

use std::cmp::Reverse;

use super::decision::{ActionOutcome, PolicyDecision, ScalingAction};
use super::load::TaskLoad;
use super::situation::Situation;
use crate::placement::{DeviceSlot, HostedInstances, InstanceChange};
use crate::variants::{TaskIndex, VariantIndex};

/// A decision in progress, for policies that decide step by step.
pub struct DecisionDraft<'a> {
    /// The inputs of the decision.
    pub situation: &'a Situation<'a>,
    /// The instances after the decision.
    pub hosted: HostedInstances,
    /// The decision, without its changes.
    pub decision: PolicyDecision,
}

impl<'a> DecisionDraft<'a> {
    /// Returns a decision without changes.
    pub fn new(situation: &'a Situation<'a>) -> Self {
        DecisionDraft {
            situation,
            hosted: situation.hosted.clone(),
            decision: PolicyDecision::default(),
        }
    }

    /// Returns the decision.
    pub fn finish(mut self) -> PolicyDecision {
        self.decision.changes = self.hosted.changes_from(self.situation.hosted);
        self.decision
    }

    /// Places up to `count` instances where they fit best. Returns the number placed.
    pub fn place(&mut self, variant: VariantIndex, count: u32) -> u32 {
        let catalog = self.situation.catalog;
        for placed in 0..count {
            let device = self.hosted.best_fit(catalog, variant);
            let added = device.map(|device| self.hosted.add(catalog, variant, device));
            if !matches!(added, Some(Ok(()))) {
                let kind = catalog.variant(variant).device;
                let missing = (count - placed) as usize;
                self.decision
                    .lacking
                    .extend(std::iter::repeat_n(kind, missing));
                return placed;
            }
        }
        count
    }

    /// Returns whether there is room for `count` instances.
    pub fn has_room(&self, variant: VariantIndex, count: u32) -> bool {
        let catalog = self.situation.catalog;
        let mut trial = self.hosted.clone();
        (0..count).all(|_| {
            let device = trial.best_fit(catalog, variant);
            device.is_some_and(|device| trial.add(catalog, variant, device).is_ok())
        })
    }

    /// Removes an interfered instance if there is one, else one from the device with the fewest
    /// instances of the variant.
    pub fn take_away(&mut self, variant: VariantIndex) {
        let devices = self
            .hosted
            .devices()
            .filter(|d| self.hosted.count_on(variant, *d) > 0);
        let calm = |d: &DeviceSlot| !self.situation.is_interfered(variant, *d);
        let first = devices.min_by_key(|d| (calm(d), self.hosted.count_on(variant, *d), *d));
        if let Some(device) = first {
            // The line above ensures that it exists.
            let removed = self.hosted.remove(self.situation.catalog, variant, device);
            debug_assert!(removed.is_ok());
        }
    }

    /// Moves one instance of each variant with interference to another device (INFaaS §4.1).
    pub(super) fn mitigate(&mut self, task: TaskIndex, load: &TaskLoad<'_>) {
        let situation = self.situation;
        for variant in load.suiting_any() {
            let devices = self.hosted.devices();
            let mut interfered = devices.filter(|d| {
                self.hosted.count_on(variant, *d) > 0 && situation.is_interfered(variant, *d)
            });
            let Some(from) = interfered.next() else {
                continue;
            };
            let outcome = match self.moved(variant, from) {
                true => ActionOutcome::Taken,
                false => {
                    let kind = situation.catalog.variant(variant).device;
                    self.decision.lacking.push(kind);
                    ActionOutcome::NoRoom
                }
            };
            self.decision
                .consider(task, ScalingAction::Move(variant), 0.0, outcome);
        }
    }

    fn moved(&mut self, variant: VariantIndex, from: DeviceSlot) -> bool {
        let catalog = self.situation.catalog;
        let Some(to) = self.fallback_device(variant, from) else {
            return false;
        };
        let removed = self.hosted.remove(catalog, variant, from);
        removed.is_ok() && self.hosted.add(catalog, variant, to).is_ok()
    }

    /// Returns the device to which an interfered instance moves: one without instances, which could
    /// interfere with it there too. If other programs disturb its device, it is the undisturbed
    /// device with the most room.
    fn fallback_device(&self, variant: VariantIndex, from: DeviceSlot) -> Option<DeviceSlot> {
        let (situation, hosted) = (self.situation, &self.hosted);
        let is_empty = |device: DeviceSlot| hosted.hosted_on(device).next().is_none();
        let devices = hosted.devices().filter(|device| {
            *device != from
                && !situation.is_disturbed(*device)
                && hosted.fits(situation.catalog, variant, *device)
        });
        let suiting = devices.filter(|d| is_empty(*d) || situation.is_disturbed(from));
        suiting.min_by_key(|d| (!is_empty(*d), Reverse(hosted.free_share(*d))))
    }
}

/// Returns a decision with these changes, for policies that decide as a whole.
pub(super) fn decision_of(changes: Vec<InstanceChange>) -> PolicyDecision {
    PolicyDecision {
        changes,
        ..PolicyDecision::default()
    }
}

/// Returns the number of instances of `rate` each that serve `load`.
pub fn instances_for(load: f64, rate: f64) -> u32 {
    // The smallest power of ten above the rounding errors of sums of rates.
    (load / rate - 1e-9).ceil().max(0.0) as u32
}
