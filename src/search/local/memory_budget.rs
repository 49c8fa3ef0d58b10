//! Whether changed entries fit in memory, asked thousands of times a second: the
//! ledger's rules over numbers worked out once.

use crate::allocation::{Cell, Footprints, Frame};
use crate::device::Devices;

use super::position::EntryEdit;

/// The memory of workers in each memory space, and the memory that is taken.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    members: usize,
    sizes: usize,
    space_of: Vec<usize>,
    capacity: Vec<u64>,
    /// Of each entry and batch size: weights and activations.
    needs: Vec<(u64, u64)>,
    /// The bytes of the sample pool in each space.
    pool: Vec<u64>,
    taken: Vec<u64>,
    /// Workers that share a member's weights, by member and space.
    sharers: Vec<usize>,
}

impl MemoryBudget {
    /// Devices without workers.
    pub fn new(frame: &Frame, devices: &Devices, footprints: &Footprints) -> Self {
        let (members, spaces) = (frame.members.len(), devices.spaces().len());
        let capacity = devices.spaces().iter().map(|s| s.bytes);
        let cells = (0..frame.devices.len())
            .flat_map(|device| (0..members).map(move |member| Cell { device, member }));
        let needs = cells.flat_map(|cell| {
            frame.batch_sizes.iter().map(move |size| {
                let booking = footprints.booking(cell, size);
                (booking.weight_bytes, booking.activation_bytes)
            })
        });
        let mut pool = vec![0; spaces];
        if let Some((space, bytes)) = footprints.pool(devices) {
            pool[space.0] = bytes;
        }
        MemoryBudget {
            members,
            sizes: frame.batch_sizes.count(),
            space_of: devices.iter().map(|d| d.space.0).collect(),
            capacity: capacity.collect(),
            needs: needs.collect(),
            taken: pool.clone(),
            pool,
            sharers: vec![0; spaces * members],
        }
    }

    /// Whether a worker at `cell` fits were it alone beside the sample pool.
    pub fn fits_alone(&self, cell: Cell, size: usize) -> bool {
        let (weights, activations) = self.need(cell, size);
        let space = self.space_of[cell.device];
        self.pool[space] + weights + activations <= self.capacity[space]
    }

    /// Whether `edits` fit; `old` says what is at their cells now.
    pub fn fits(&mut self, edits: &[EntryEdit], old: impl Fn(Cell) -> Option<usize>) -> bool {
        self.apply(edits, &old);
        let fits = edits.iter().all(|edit| self.holds(edit.cell.device));
        for edit in edits.iter().rev() {
            self.change(edit.cell, edit.to, old(edit.cell));
        }
        fits
    }

    /// Books `edits`, whether they fit or not.
    pub fn apply(&mut self, edits: &[EntryEdit], old: impl Fn(Cell) -> Option<usize>) {
        for edit in edits {
            self.change(edit.cell, old(edit.cell), edit.to);
        }
    }

    /// Whether what is taken in a device's memory is there.
    pub fn holds(&self, device: usize) -> bool {
        let space = self.space_of[device];
        self.taken[space] <= self.capacity[space]
    }

    /// Whether two devices use the same memory.
    pub fn shared(&self, a: usize, b: usize) -> bool {
        self.space_of[a] == self.space_of[b]
    }

    fn need(&self, cell: Cell, size: usize) -> (u64, u64) {
        self.needs[(cell.device * self.members + cell.member) * self.sizes + size]
    }

    fn change(&mut self, cell: Cell, from: Option<usize>, to: Option<usize>) {
        let space = self.space_of[cell.device];
        let sharers = space * self.members + cell.member;
        if let Some(size) = from {
            let (weights, activations) = self.need(cell, size);
            self.sharers[sharers] -= 1;
            let weights = if self.sharers[sharers] == 0 {
                weights
            } else {
                0
            };
            self.taken[space] -= activations + weights;
        }
        if let Some(size) = to {
            let (weights, activations) = self.need(cell, size);
            let weights = if self.sharers[sharers] == 0 {
                weights
            } else {
                0
            };
            self.sharers[sharers] += 1;
            self.taken[space] += activations + weights;
        }
    }
}
