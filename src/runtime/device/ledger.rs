//! The memory ledger: the bytes booked in each memory space, and the workers they are for.

use std::collections::HashMap;

use thiserror::Error;

use super::devices::Devices;
use super::{DeviceIndex, MemberIndex, SpaceId};

/// The memory booked by one worker: its own activations, and its member's weights, which are shared
/// in a memory space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Booking {
    /// The worker's device.
    pub device: DeviceIndex,
    /// Its member.
    pub member: MemberIndex,
    /// Bytes of the member's weights.
    pub weight_bytes: u64,
    /// Bytes of the worker's activations.
    pub activation_bytes: u64,
    /// FLOPs of a sample, to spread members over devices of one memory space.
    pub flops: u64,
}

/// A booking does not fit into its memory space.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{needed} bytes needed, {free} bytes free")]
pub struct NoRoom {
    /// Bytes that the booking would add.
    pub needed: u64,
    /// Bytes that are free.
    pub free: u64,
}

/// The bookings of the sample pool and of all workers. Weights are booked once for each
/// member and memory space.
#[derive(Clone, Debug)]
pub struct Ledger {
    space_of: Vec<SpaceId>,
    capacity: Vec<u64>,
    booked: Vec<u64>,
    /// The number of workers that share a member's weights in a space.
    sharers: HashMap<(MemberIndex, SpaceId), usize>,
    flops: Vec<u64>,
}

impl Ledger {
    /// Creates an empty ledger for `devices`.
    pub fn new(devices: &Devices) -> Self {
        Ledger {
            space_of: devices.iter().map(|d| d.space).collect(),
            capacity: devices.spaces().iter().map(|s| s.bytes).collect(),
            booked: vec![0; devices.spaces().len()],
            sharers: HashMap::new(),
            flops: vec![0; devices.count()],
        }
    }

    /// Returns the bytes that `booking` would add now.
    pub fn needed(&self, booking: &Booking) -> u64 {
        let space = self.space_of[booking.device];
        match self.sharers.get(&(booking.member, space)) {
            Some(_) => booking.activation_bytes,
            None => booking.activation_bytes + booking.weight_bytes,
        }
    }

    /// Books a worker.
    ///
    /// # Errors
    /// [`NoRoom`] if the worker does not fit; nothing is booked then.
    pub fn book(&mut self, booking: &Booking) -> Result<(), NoRoom> {
        let space = self.space_of[booking.device];
        let (needed, free) = (self.needed(booking), self.free(booking.device));
        if needed > free {
            return Err(NoRoom { needed, free });
        }
        self.booked[space.0] += needed;
        *self.sharers.entry((booking.member, space)).or_default() += 1;
        self.flops[booking.device] += booking.flops;
        Ok(())
    }

    /// Books bytes of a memory space for something other than workers. They are never released.
    ///
    /// # Errors
    /// [`NoRoom`] if the bytes do not fit; nothing is booked then.
    pub fn reserve(&mut self, space: SpaceId, bytes: u64) -> Result<(), NoRoom> {
        let free = self.capacity[space.0] - self.booked[space.0];
        if bytes > free {
            return Err(NoRoom {
                needed: bytes,
                free,
            });
        }
        self.booked[space.0] += bytes;
        Ok(())
    }

    /// Releases a worker's booking. The weights are released with the last worker that shares them.
    pub fn release(&mut self, booking: &Booking) {
        let space = self.space_of[booking.device];
        let key = (booking.member, space);
        let mut bytes = booking.activation_bytes;
        if let Some(count) = self.sharers.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.sharers.remove(&key);
                bytes += booking.weight_bytes;
            }
        }
        self.booked[space.0] = self.booked[space.0].saturating_sub(bytes);
        let flops = &mut self.flops[booking.device];
        *flops = flops.saturating_sub(booking.flops);
    }

    /// Returns the free bytes in the memory space of a device.
    pub fn free(&self, device: DeviceIndex) -> u64 {
        let space = self.space_of[device].0;
        self.capacity[space] - self.booked[space]
    }

    /// Returns the booked bytes in the memory space of a device.
    pub fn booked(&self, device: DeviceIndex) -> u64 {
        self.booked[self.space_of[device].0]
    }

    /// Returns the FLOPs of a sample, summed over the workers booked on a device.
    pub fn flops(&self, device: DeviceIndex) -> u64 {
        self.flops[device]
    }
}
