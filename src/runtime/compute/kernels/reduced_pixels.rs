//! Pixels of reduced numbers in the memory of a batch.

use std::marker::PhantomData;

use crate::compute::buffers::ReducedView;

/// The pixels of a slot of reduced numbers.
#[derive(Clone, Copy)]
pub(in crate::compute) struct ReducedPixels<'a> {
    start: *mut u8,
    /// Bytes of the slot.
    len: usize,
    pub of: ReducedView,
    buffer: PhantomData<&'a mut [f32]>,
}

impl ReducedPixels<'_> {
    /// Returns the pixels of a slot of `len` bytes.
    pub(super) fn new(start: *mut u8, len: usize, of: ReducedView) -> Self {
        ReducedPixels {
            start,
            len,
            of,
            buffer: PhantomData,
        }
    }

    /// Returns the address of channel `first` of pixel `pixel`. The pixel's other channels follow
    /// it.
    #[inline(always)]
    pub(crate) fn ptr(&self, pixel: usize, first: usize) -> *mut u8 {
        let view = self.of.view;
        let bytes = self.of.numbers.bytes();
        let end = (pixel * view.pitch + view.first + view.channels) * bytes;
        assert!(
            end <= self.len && first <= view.channels,
            "a pixel outside of its slot"
        );
        self.start
            .wrapping_add(end - (view.channels - first) * bytes)
    }
}
