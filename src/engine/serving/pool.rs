//! The sample pool: which slots of which extents are taken, and the bytes in host memory, written
//! once and read by every worker.
//!
//! An extent is N slots. Requests fill the open extent one after another, so small ones are packed
//! together; an extent is free again when its last sample is.
//!
//! A sample is one row of float32. If it has several named tensors, they lie one after another,
//! behind the sample's length if that varies. A row is written once for each distinct input of the
//! members.

use std::fmt;
use std::sync::OnceLock;

use divisi_model::ensemble::{SampleValues, Transforms};
use divisi_runtime::device::gpu::{HostBuffer, HostSlice, PinnedBlock};
use divisi_runtime::lock::SharedLeaf;

use super::batch::Slice;

/// The slots by extent. Their bytes are in `Storage`.
#[derive(Clone, Debug)]
pub struct PoolIndex {
    slots: usize,
    extents: Vec<Extent>,
    free: Vec<usize>,
    open: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    /// Slots taken since the extent was opened.
    used: usize,
    /// Taken slots that are not released yet.
    live: usize,
}

impl PoolIndex {
    /// Creates `extents` extents of `slots` slots.
    pub fn new(extents: usize, slots: usize) -> Self {
        PoolIndex {
            slots: slots.max(1),
            extents: vec![Extent::default(); extents],
            free: (0..extents).rev().collect(),
            open: None,
        }
    }

    /// Returns the total number of slots.
    pub fn capacity(&self) -> usize {
        self.slots * self.extents.len()
    }

    /// Returns the number of slots that can be taken now.
    pub fn available(&self) -> usize {
        let rest = self.open.map_or(0, |e| self.slots - self.extents[e].used);
        rest + self.free.len() * self.slots
    }

    /// Returns the number of samples that hold a slot.
    pub fn live(&self) -> usize {
        self.extents.iter().map(|e| e.live).sum()
    }

    /// Takes slots for `samples`, in order, or returns `None` if there are too few.
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

    /// Releases `len` slots of an extent.
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

/// Returns page-locked memory of this number of values, or `None` if no GPU can provide it.
pub(super) type Lender = Box<dyn Fn(usize) -> Option<PinnedBlock> + Send + Sync>;

/// One block of slots for each extent and each distinct input of the members. A block is locked to
/// write one request's rows or to copy one batch's. Different blocks never wait for each other.
pub(super) struct Storage {
    transforms: Transforms,
    /// `[transform][extent]`.
    blocks: Vec<Vec<OnceLock<SharedLeaf<HostBuffer>>>>,
    slots: usize,
    lender: Option<Lender>,
}

impl Storage {
    /// Creates storage for `extents` of `slots` samples, converted by each of `transforms`. A
    /// block's memory is allocated on the first write.
    pub(super) fn new(extents: usize, slots: usize, transforms: Transforms) -> Self {
        let extents = || (0..extents).map(|_| OnceLock::new()).collect();
        Storage {
            blocks: transforms.distinct().iter().map(|_| extents()).collect(),
            transforms,
            slots,
            lender: None,
        }
    }

    /// Uses memory that GPUs can copy from directly, as far as `lender` provides it.
    #[must_use]
    pub(super) fn pinned(self, lender: Lender) -> Self {
        Storage {
            lender: Some(lender),
            ..self
        }
    }

    /// Writes samples to their slots, once for each distinct input.
    pub(super) fn write(&self, slices: &[Slice], values: SampleValues<'_>) {
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

    /// Returns whether models can read samples outside the pool: no GPU copies from the pool, and
    /// converting a sample for each batch costs no more than copying it.
    pub(super) fn reads_elsewhere(&self) -> bool {
        let sample = self.transforms.sample();
        let mut inputs = self.transforms.distinct().iter();
        self.lender.is_none() && inputs.all(|input| !input.resizes(sample))
    }

    /// Returns the values of a sample before conversion.
    pub(super) fn sample_width(&self) -> usize {
        self.transforms.sample().elements()
    }

    /// Writes samples to `to`, converted by a transform.
    pub(super) fn convert(&self, transform: usize, samples: SampleValues<'_>, to: &mut [f32]) {
        let input = &self.transforms.distinct()[transform];
        input.convert(self.transforms.sample(), samples, to);
    }

    fn write_slice(&self, slice: Slice, transform: usize, samples: SampleValues<'_>) {
        let width = self.width(transform);
        if width == 0 {
            return;
        }
        let mut block = self.block(slice, transform).write();
        let rows = &mut block.values_mut()[slice.slot * width..][..slice.len * width];
        self.convert(transform, samples, rows);
    }

    /// Returns the block of a slice. Allocates its memory on first use before locking it, because
    /// the lender takes locks of its own.
    fn block(&self, slice: Slice, transform: usize) -> &SharedLeaf<HostBuffer> {
        let values = self.slots * self.width(transform);
        self.blocks[transform][slice.extent].get_or_init(|| SharedLeaf::new(self.new_block(values)))
    }

    fn new_block(&self, values: usize) -> HostBuffer {
        let lent = self.lender.as_ref().and_then(|lend| lend(values));
        match lent {
            Some(block) => HostBuffer::Pinned(block),
            // Memory that cannot be page-locked is only copied twice.
            None => HostBuffer::Ordinary(vec![0.0; values]),
        }
    }

    /// Returns the values of a sample after a transform.
    pub(super) fn width(&self, transform: usize) -> usize {
        self.transforms.distinct()[transform].shape.elements()
    }

    /// Copies one slice's samples to `to`, converted by a transform.
    pub(super) fn read_as(&self, slice: Slice, transform: usize, to: &mut [f32]) {
        let width = self.width(transform);
        let block = self.block(slice, transform).read();
        to.copy_from_slice(&block.values()[slice.slot * width..][..slice.len * width]);
    }

    /// Returns one slice's samples for a copy engine, or `None` if their block is not page-locked.
    pub(super) fn host_slice(&self, slice: Slice, transform: usize) -> Option<HostSlice> {
        let width = self.width(transform);
        let block = self.block(slice, transform).read();
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
