//! Where everything lies in the one allocation that a batch is run in.

use std::ops::Range;

use super::kernels::{LINE, Scratch};
use super::plan::ArenaPlan;

/// Ranges of floats, each starting at a cache line.
#[derive(Clone, Debug)]
pub(super) struct ArenaLayout {
    pub slots: Vec<Range<usize>>,
    /// Which slots begin anew with each chunk.
    pub early: Vec<bool>,
    /// Scratch of all threads together.
    pub shared: Range<usize>,
    /// Scratch of each thread.
    pub own: Vec<Range<usize>>,
    /// Row offsets that each thread can note down.
    pub offsets: usize,
    /// Floats of everything.
    pub floats: usize,
}

impl ArenaLayout {
    /// For up to `batch` samples run together on `threads`.
    pub fn new(plan: &ArenaPlan, batch: usize, threads: usize) -> Self {
        let scratch = plan.scratch(batch, threads);
        let mut end = 0;
        let mut take = |floats: usize| {
            let start = end;
            end = (start + floats).next_multiple_of(LINE);
            start..start + floats
        };
        // Zeros that stand for what lies outside of an image come first.
        take(plan.zeros);
        let slots = (0..plan.slots.len()).map(|s| take(plan.slot_floats(s, batch)));
        let slots = slots.collect();
        let shared = take(scratch.shared);
        let own = (0..threads).map(|_| take(scratch.own)).collect();
        ArenaLayout {
            slots,
            early: plan.early.clone(),
            shared,
            own,
            offsets: scratch.offsets,
            floats: end,
        }
    }

    /// Bytes of the allocation and of the offsets.
    pub fn bytes(&self) -> u64 {
        let offsets = self.own.len() * self.offsets * size_of::<usize>();
        (4 * (self.floats + LINE) + offsets) as u64
    }
}

impl Scratch {
    /// Enough for both, one after the other.
    pub fn or(self, other: Scratch) -> Scratch {
        Scratch {
            own: self.own.max(other.own),
            shared: self.shared.max(other.shared),
            offsets: self.offsets.max(other.offsets),
        }
    }
}
