//! The memory ledger: what is booked in each memory space, and for whom.

use std::collections::HashMap;

use thiserror::Error;

use super::device::SpaceId;
use super::devices::Devices;

/// What one worker books: its member's weights (shared in its memory space) and its
/// own activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Booking {
    pub device: usize,
    pub member: usize,
    pub weight_bytes: u64,
    pub activation_bytes: u64,
    /// FLOPs a sample, to spread members over devices of one memory space.
    pub flops: u64,
}

/// A booking does not fit.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{needed} bytes needed where {free} bytes are free")]
pub struct NoRoom {
    pub needed: u64,
    pub free: u64,
}

/// Bookings of the sample pool and of all workers. Weights are booked once per (member, memory space).
#[derive(Clone, Debug)]
pub struct Ledger {
    space_of: Vec<SpaceId>,
    capacity: Vec<u64>,
    booked: Vec<u64>,
    /// Workers that share a member's weights in a space.
    sharers: HashMap<(usize, SpaceId), usize>,
    flops: Vec<u64>,
}

impl Ledger {
    /// An empty ledger for `devices`.
    pub fn new(devices: &Devices) -> Self {
        Ledger {
            space_of: devices.iter().map(|d| d.space).collect(),
            capacity: devices.spaces().iter().map(|s| s.bytes).collect(),
            booked: vec![0; devices.spaces().len()],
            sharers: HashMap::new(),
            flops: vec![0; devices.count()],
        }
    }

    /// Bytes that `booking` would add now.
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
    /// [`NoRoom`], and nothing is booked.
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

    /// Books bytes of a memory space that belong to no worker, for good.
    ///
    /// # Errors
    /// [`NoRoom`], and nothing is booked.
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

    /// Takes back a worker's booking; the last sharer takes the weights along.
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

    /// Free bytes in the memory space of a device.
    pub fn free(&self, device: usize) -> u64 {
        let space = self.space_of[device].0;
        self.capacity[space] - self.booked[space]
    }

    /// Booked bytes in the memory space of a device.
    pub fn booked(&self, device: usize) -> u64 {
        self.booked[self.space_of[device].0]
    }

    /// FLOPs a sample booked on a device.
    pub fn flops(&self, device: usize) -> u64 {
        self.flops[device]
    }
}
