//! The sample pool's bookkeeping: which slots of which extents are taken.
//!
//! An extent is N slots. Requests fill the open extent one after another, so small
//! ones are packed together; an extent is free again when its last sample is.

use super::batch::Slice;

/// Slots by extent; the bytes live in the storage beside it.
#[derive(Clone, Debug)]
pub struct PoolIndex {
    slots: usize,
    extents: Vec<Extent>,
    free: Vec<usize>,
    open: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    /// Slots handed out since the extent was opened.
    used: usize,
    /// Of those, not yet released.
    live: usize,
}

impl PoolIndex {
    /// `extents` extents of `slots` slots.
    pub fn new(extents: usize, slots: usize) -> Self {
        PoolIndex {
            slots: slots.max(1),
            extents: vec![Extent::default(); extents],
            free: (0..extents).rev().collect(),
            open: None,
        }
    }

    /// Slots in all.
    pub fn capacity(&self) -> usize {
        self.slots * self.extents.len()
    }

    /// Slots that can be taken now.
    pub fn available(&self) -> usize {
        let rest = self.open.map_or(0, |e| self.slots - self.extents[e].used);
        rest + self.free.len() * self.slots
    }

    /// Samples that hold a slot.
    pub fn live(&self) -> usize {
        self.extents.iter().map(|e| e.live).sum()
    }

    /// Takes slots for `samples`, in order; none where there are not enough.
    pub fn allocate(&mut self, samples: usize) -> Option<Vec<Slice>> {
        if samples > self.available() {
            return None;
        }
        let mut slices = Vec::new();
        let mut left = samples;
        while left > 0 {
            let extent = match self.open {
                Some(open) => open,
                None => self.free.pop()?,
            };
            let state = &mut self.extents[extent];
            let len = left.min(self.slots - state.used);
            slices.push(Slice {
                extent,
                slot: state.used,
                len,
            });
            state.used += len;
            state.live += len;
            left -= len;
            self.open = (state.used < self.slots).then_some(extent);
        }
        Some(slices)
    }

    /// Gives back `len` slots of an extent.
    pub fn release(&mut self, extent: usize, len: usize) {
        let state = &mut self.extents[extent];
        state.live = state.live.saturating_sub(len);
        if state.live == 0 {
            state.used = 0;
            if self.open != Some(extent) {
                self.free.push(extent);
            }
        }
    }
}
