//! The states of instances: one for each variant and device.

use std::collections::BTreeMap;
use std::time::Duration;

use super::state::VariantState;
use super::thresholds::StateThresholds;
use super::watch::{VariantObservation, VariantWatch};
use crate::placement::DeviceSlot;
use crate::variants::VariantIndex;

/// The state of the instances of a variant on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceState {
    /// The variant.
    pub variant: VariantIndex,
    /// The device.
    pub device: DeviceSlot,
    /// Their state.
    pub state: VariantState,
}

/// The states of all instances, updated by observations.
#[derive(Clone, Debug)]
pub struct InstanceWatches {
    thresholds: StateThresholds,
    watches: BTreeMap<(DeviceSlot, VariantIndex), VariantWatch>,
}

impl InstanceWatches {
    /// Starts without instances.
    pub fn new(thresholds: StateThresholds) -> Self {
        InstanceWatches {
            thresholds,
            watches: BTreeMap::new(),
        }
    }

    /// Records the observations of all instances. The states of other instances are forgotten.
    pub fn observe(
        &mut self,
        now: Duration,
        seen: impl IntoIterator<Item = (DeviceSlot, VariantIndex, VariantObservation)>,
    ) {
        let mut before = std::mem::take(&mut self.watches);
        for (device, variant, seen) in seen {
            let known = before.remove(&(device, variant));
            let mut watch = known.unwrap_or_else(|| VariantWatch::new(self.thresholds));
            watch.observe(now, &seen);
            self.watches.insert((device, variant), watch);
        }
    }

    /// Returns the state of the instances of a variant on a device.
    pub fn state(&self, variant: VariantIndex, device: DeviceSlot) -> VariantState {
        let watch = self.watches.get(&(device, variant));
        watch.map_or_else(VariantState::default, VariantWatch::state)
    }

    /// Returns the states of all instances, in the order of devices.
    pub fn states(&self) -> Vec<InstanceState> {
        let each = self.watches.iter();
        each.map(|((device, variant), watch)| InstanceState {
            variant: *variant,
            device: *device,
            state: watch.state(),
        })
        .collect()
    }
}
