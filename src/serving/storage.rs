//! The pool's bytes in host memory: written once, read by every worker.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use crate::device::gpu::{HostBuffer, HostSlice, PinnedBlock};
use crate::ensemble::Transforms;

use super::batch::Slice;

/// Lends page-locked memory of so many values, where there is a GPU that can.
pub(super) type Lender = Box<dyn Fn(usize) -> Option<PinnedBlock> + Send + Sync>;

/// One block of slots for each extent and each distinct input of the members. A block's
/// lock is held to write one request's rows or to copy one batch's; different blocks
/// never wait for each other.
pub(super) struct Storage {
    transforms: Transforms,
    /// `[transform][extent]`.
    blocks: Vec<Vec<RwLock<HostBuffer>>>,
    slots: usize,
    lender: Option<Lender>,
}

impl Storage {
    /// Room for `extents` of `slots` samples as each of `transforms` makes them; a
    /// block's memory is taken when it is first written.
    pub(super) fn new(extents: usize, slots: usize, transforms: Transforms) -> Self {
        let extents = || (0..extents).map(|_| RwLock::default()).collect();
        Storage {
            blocks: transforms.distinct().iter().map(|_| extents()).collect(),
            transforms,
            slots,
            lender: None,
        }
    }

    /// The same in memory that GPUs copy from directly, as far as `lender` has some.
    #[must_use]
    pub(super) fn pinned(self, lender: Lender) -> Self {
        Storage {
            lender: Some(lender),
            ..self
        }
    }

    /// Writes samples to their slots, once as each distinct input wants them.
    pub(super) fn write(&self, slices: &[Slice], values: &[f32]) {
        let width = self.transforms.sample().elements();
        let mut rest = values;
        for slice in slices {
            let (now, later) = rest.split_at(slice.len * width);
            rest = later;
            for transform in 0..self.blocks.len() {
                self.write_slice(*slice, transform, now);
            }
        }
    }

    fn write_slice(&self, slice: Slice, transform: usize, samples: &[f32]) {
        let input = &self.transforms.distinct()[transform];
        let width = self.width(transform);
        let block = &self.blocks[transform][slice.extent];
        let mut block = block.write().unwrap_or_else(PoisonError::into_inner);
        if block.values().is_empty() {
            *block = self.block(self.slots * width);
        }
        let rows = &mut block.values_mut()[slice.slot * width..][..slice.len * width];
        input.convert(self.transforms.sample(), samples, rows);
    }

    fn block(&self, values: usize) -> HostBuffer {
        let lent = self.lender.as_ref().and_then(|lend| lend(values));
        match lent {
            Some(block) => HostBuffer::Pinned(block),
            // What cannot be locked is copied twice; nothing else is lost.
            None => HostBuffer::Ordinary(vec![0.0; values]),
        }
    }

    /// Returns the values of a sample after a transform.
    pub(super) fn width(&self, transform: usize) -> usize {
        self.transforms.distinct()[transform].shape.elements()
    }

    /// Which transform member number `member` reads.
    pub(super) fn transform(&self, member: usize) -> usize {
        self.transforms.of(member)
    }

    /// Copies one slice's samples to `to`, as member number `member` takes them.
    pub(super) fn read(&self, slice: Slice, member: usize, to: &mut [f32]) {
        self.read_as(slice, self.transforms.of(member), to);
    }

    /// The same, as a transform makes them.
    pub(super) fn read_as(&self, slice: Slice, transform: usize, to: &mut [f32]) {
        let width = self.width(transform);
        let block = &self.blocks[transform][slice.extent];
        let block = block.read().unwrap_or_else(PoisonError::into_inner);
        to.copy_from_slice(&block.values()[slice.slot * width..][..slice.len * width]);
    }

    /// Where a copy engine finds one slice's samples; none where their block is not
    /// page-locked.
    pub(super) fn host_slice(&self, slice: Slice, transform: usize) -> Option<HostSlice> {
        let width = self.width(transform);
        let block = &self.blocks[transform][slice.extent];
        let block = block.read().unwrap_or_else(PoisonError::into_inner);
        let pinned = block.pinned()?;
        Some(pinned.slice(slice.slot * width, slice.len * width))
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("slots", &self.slots)
            .field("transforms", &self.transforms)
            .field("pinned", &self.lender.is_some())
            .finish_non_exhaustive()
    }
}
