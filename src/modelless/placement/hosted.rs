//! Instances on devices, and the free room.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::variants::{DeviceKindIndex, DeviceSharing, VariantCatalog, VariantIndex};

/// The index of a device within a machine or fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceSlot(pub u16);

/// Instances of a variant added to a device, or removed if negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceChange {
    /// The variant.
    pub variant: VariantIndex,
    /// The device.
    pub device: DeviceSlot,
    /// The number of instances added or removed.
    pub instances: i32,
}

/// An impossible change of instances.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlacementError {
    /// The device has another kind, or no room.
    #[error("variant {0:?} does not fit on device {1:?}")]
    DoesNotFit(VariantIndex, DeviceSlot),
    /// The device has fewer instances.
    #[error("device {1:?} has fewer instances of variant {0:?} than are removed")]
    NotThere(VariantIndex, DeviceSlot),
}

/// Instances on devices. No device has more than its shares and its memory.
#[derive(Clone, Debug, PartialEq)]
pub struct HostedInstances {
    /// `[devices]`.
    rooms: Vec<DeviceRoom>,
    /// `[devices, variants]`.
    counts: Vec<u16>,
    /// `[variants]`.
    totals: Vec<u32>,
}

/// The free room of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
struct DeviceRoom {
    kind: DeviceKindIndex,
    thousandths: u16,
    memory: u64,
    /// Whether it accepts instances: a device being removed does not.
    open: bool,
}

impl HostedInstances {
    /// Creates devices of these kinds without instances.
    pub fn new(catalog: &VariantCatalog, devices: &[DeviceKindIndex]) -> Self {
        let mut hosted = HostedInstances {
            rooms: Vec::new(),
            counts: Vec::new(),
            totals: vec![0; catalog.variants().len()],
        };
        for kind in devices {
            hosted.push_device(catalog, *kind);
        }
        hosted
    }

    /// Adds a device. Returns its slot. A device of a kind that is not in the catalogue accepts no
    /// instances.
    pub fn push_device(&mut self, catalog: &VariantCatalog, kind: DeviceKindIndex) -> DeviceSlot {
        let priced = catalog.devices().get(usize::from(kind.0));
        self.rooms.push(DeviceRoom {
            kind,
            thousandths: 1000,
            memory: priced.map_or(0, |priced| priced.memory),
            open: true,
        });
        self.counts.resize(self.rooms.len() * self.totals.len(), 0);
        DeviceSlot((self.rooms.len() - 1) as u16)
    }

    /// Sets whether a device accepts more instances.
    pub fn set_open(&mut self, device: DeviceSlot, open: bool) {
        self.rooms[usize::from(device.0)].open = open;
    }

    /// Returns whether a device accepts more instances.
    pub fn is_open(&self, device: DeviceSlot) -> bool {
        self.rooms[usize::from(device.0)].open
    }

    /// Returns the devices.
    pub fn devices(&self) -> impl Iterator<Item = DeviceSlot> + use<> {
        (0..self.rooms.len() as u16).map(DeviceSlot)
    }

    /// Returns the kind of a device.
    pub fn kind(&self, device: DeviceSlot) -> DeviceKindIndex {
        self.rooms[usize::from(device.0)].kind
    }

    /// Returns the free thousandths of a device.
    pub fn free_share(&self, device: DeviceSlot) -> u16 {
        self.rooms[usize::from(device.0)].thousandths
    }

    fn place(&self, variant: VariantIndex, device: DeviceSlot) -> usize {
        usize::from(device.0) * self.totals.len() + variant.get()
    }

    /// Returns the instances of a variant on a device.
    pub fn count_on(&self, variant: VariantIndex, device: DeviceSlot) -> u16 {
        self.counts[self.place(variant, device)]
    }

    /// Returns the instances of a variant on all devices.
    pub fn total(&self, variant: VariantIndex) -> u32 {
        self.totals[variant.get()]
    }

    /// Returns the variants on a device, with their instances.
    pub fn hosted_on(&self, device: DeviceSlot) -> impl Iterator<Item = (VariantIndex, u16)> {
        let row = usize::from(device.0) * self.totals.len();
        let counts = self.counts[row..row + self.totals.len()].iter().enumerate();
        let counts = counts.filter(|(_, count)| **count > 0);
        counts.map(|(at, count)| (VariantIndex(at as u32), *count))
    }

    /// Returns the variants with instances.
    pub fn running(&self) -> impl Iterator<Item = (VariantIndex, u32)> {
        let totals = self.totals.iter().enumerate().filter(|(_, n)| **n > 0);
        totals.map(|(at, count)| (VariantIndex(at as u32), *count))
    }

    /// Returns whether one more instance fits on a device. Without reserved time, a second instance
    /// would have no effect.
    pub fn fits(&self, catalog: &VariantCatalog, index: VariantIndex, device: DeviceSlot) -> bool {
        let room = &self.rooms[usize::from(device.0)];
        let variant = catalog.variant(index);
        let adds_nothing = variant.profile.sharing == DeviceSharing::Unreserved
            && self.count_on(index, device) > 0;
        room.open
            && !adds_nothing
            && room.kind == variant.device
            && variant.profile.reserved() <= room.thousandths
            && self.memory(catalog, index, device) <= room.memory
    }

    /// Returns the memory of one more instance: 0 if it takes turns with other instances of its
    /// variant, which share their weights.
    fn memory(&self, catalog: &VariantCatalog, index: VariantIndex, device: DeviceSlot) -> u64 {
        let profile = &catalog.variant(index).profile;
        match profile.sharing.takes_turns() && self.count_on(index, device) > 0 {
            true => 0,
            false => profile.memory,
        }
    }

    /// Adds an instance.
    ///
    /// # Errors
    /// Returns an error if it does not fit.
    pub fn add(
        &mut self,
        catalog: &VariantCatalog,
        index: VariantIndex,
        device: DeviceSlot,
    ) -> Result<(), PlacementError> {
        let variant = catalog.variant(index);
        if !self.fits(catalog, index, device) {
            return Err(PlacementError::DoesNotFit(index, device));
        }
        let memory = self.memory(catalog, index, device);
        let room = &mut self.rooms[usize::from(device.0)];
        room.thousandths -= variant.profile.reserved();
        room.memory -= memory;
        let place = self.place(index, device);
        self.counts[place] += 1;
        self.totals[index.get()] += 1;
        Ok(())
    }

    /// Removes an instance.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn remove(
        &mut self,
        catalog: &VariantCatalog,
        index: VariantIndex,
        device: DeviceSlot,
    ) -> Result<(), PlacementError> {
        let place = self.place(index, device);
        if self.counts[place] == 0 {
            return Err(PlacementError::NotThere(index, device));
        }
        self.counts[place] -= 1;
        let memory = self.memory(catalog, index, device);
        let room = &mut self.rooms[usize::from(device.0)];
        room.thousandths += catalog.variant(index).profile.reserved();
        room.memory += memory;
        self.totals[index.get()] -= 1;
        Ok(())
    }

    /// Applies changes, removals first.
    ///
    /// # Errors
    /// Returns an error if a change is impossible; the changes before it are applied.
    pub fn apply(
        &mut self,
        catalog: &VariantCatalog,
        changes: &[InstanceChange],
    ) -> Result<(), PlacementError> {
        for change in changes.iter().filter(|c| c.instances < 0) {
            for _ in 0..change.instances.unsigned_abs() {
                self.remove(catalog, change.variant, change.device)?;
            }
        }
        for change in changes.iter().filter(|c| c.instances > 0) {
            for _ in 0..change.instances {
                self.add(catalog, change.variant, change.device)?;
            }
        }
        Ok(())
    }

    /// Returns the changes from `before`, which has the same devices, to these instances.
    pub fn changes_from(&self, before: &HostedInstances) -> Vec<InstanceChange> {
        let each = self.counts.iter().zip(&before.counts).enumerate();
        let changed = each.filter(|(_, (now, before))| now != before);
        let changes = changed.map(|(place, (now, before))| InstanceChange {
            variant: VariantIndex((place % self.totals.len()) as u32),
            device: DeviceSlot((place / self.totals.len()) as u16),
            instances: i32::from(*now) - i32::from(*before),
        });
        changes.collect()
    }

    /// Returns the cost of all instances, in money per second.
    pub fn cost(&self, catalog: &VariantCatalog) -> f64 {
        let each = self.running();
        each.map(|(v, n)| catalog.variant(v).profile.cost.get() * f64::from(n))
            .sum()
    }

    /// Returns the device where an instance fits best: one that already has the variant, else the
    /// one with the least room left.
    pub fn best_fit(&self, catalog: &VariantCatalog, index: VariantIndex) -> Option<DeviceSlot> {
        let fitting = self
            .devices()
            .filter(|device| self.fits(catalog, index, *device));
        fitting.min_by_key(|device| (self.count_on(index, *device) == 0, self.free_share(*device)))
    }
}
