//! The single allocation in which a batch runs: its places, and how the threads of the batch share
//! it.
//!
//! It is aligned and holds zeros for taps outside of an image, the slots of the plan, scratch
//! shared by all threads, and scratch for each thread. While a phase of a step runs, its inputs are
//! only read, and the pixels that it writes are divided among its tasks. So threads share the
//! memory without locks.

use std::marker::PhantomData;
use std::ops::Range;

use super::layout::ArenaLayout;
use super::reduced_pixels::ReducedPixels;
use crate::compute::buffers::{ReducedView, TensorView, ValuePlace};

/// One batch's memory, as every thread sees it.
#[derive(Clone, Copy)]
pub(in crate::compute) struct BatchMemory<'a> {
    start: *mut f32,
    len: usize,
    layout: &'a ArenaLayout,
    input: &'a [f32],
    /// Samples before the current ones.
    first: usize,
    buffer: PhantomData<&'a mut [f32]>,
}

// SAFETY: threads reach the floats only through the unsafe methods below, whose callers keep
// written memory disjoint from all other reads and writes.
unsafe impl Send for BatchMemory<'_> {}
// SAFETY: as above.
unsafe impl Sync for BatchMemory<'_> {}

impl<'a> BatchMemory<'a> {
    /// Creates the memory of a batch in `floats`, which begin at a cache line and have room for
    /// `layout`.
    pub(crate) fn new(floats: &'a mut [f32], layout: &'a ArenaLayout, input: &'a [f32]) -> Self {
        assert!(
            layout.floats <= floats.len(),
            "a layout larger than its buffer"
        );
        BatchMemory {
            start: floats.as_mut_ptr(),
            len: floats.len(),
            layout,
            input,
            first: 0,
            buffer: PhantomData,
        }
    }

    /// Returns the memory for the samples from `first` on.
    pub(crate) fn from(self, first: usize) -> Self {
        BatchMemory { first, ..self }
    }

    /// Returns the range of the scratch of `thread`.
    pub(crate) fn own_scratch(&self, thread: usize) -> Range<usize> {
        self.layout.own[thread].clone()
    }

    /// Returns the range of the scratch that all threads share.
    pub(crate) fn shared(&self) -> Range<usize> {
        self.layout.shared.clone()
    }

    /// Returns the range of the view's slot, from the first sample that is worked on.
    fn range(&self, view: TensorView) -> Range<usize> {
        match view.place {
            ValuePlace::Input | ValuePlace::Nowhere => 0..0,
            ValuePlace::Shared => self.layout.shared.clone(),
            ValuePlace::Slot(slot) => {
                let range = self.layout.slots[slot].clone();
                let early = self.layout.early[slot];
                let before = if early {
                    0
                } else {
                    self.first * view.sample_stride()
                };
                range.start + before..range.end
            }
        }
    }

    /// Returns the input from the first sample that is worked on.
    fn samples(&self, view: TensorView) -> &'a [f32] {
        &self.input[self.first * view.sample_stride()..]
    }

    /// Returns the address of a view's slot, and the offset from there to the zeros. The arena
    /// begins with the zeros, so that offset wraps around; samples are outside of the arena and
    /// have no zeros.
    pub(crate) fn base(&self, view: TensorView) -> (*const f32, usize) {
        match view.place {
            ValuePlace::Input => (self.samples(view).as_ptr(), 0),
            _ => {
                let start = self.range(view).start;
                (self.start.wrapping_add(start), start.wrapping_neg())
            }
        }
    }

    /// Returns the range of the slot of reduced numbers, in floats, from the first sample that is
    /// worked on.
    fn reduced_range(&self, of: ReducedView) -> Range<usize> {
        let slot = match of.view.place {
            ValuePlace::Slot(slot) => slot,
            ValuePlace::Shared => return self.layout.shared.clone(),
            ValuePlace::Input | ValuePlace::Nowhere => return 0..0,
        };
        let range = self.layout.slots[slot].clone();
        let before = match self.layout.early[slot] {
            true => 0,
            false => self.first * of.sample_floats(),
        };
        range.start + before..range.end
    }

    /// Returns the address of reduced numbers, and the offset from there, in numbers, to the values
    /// outside of an image. The offset wraps around, like the offset of [`BatchMemory::base`].
    pub(crate) fn reduced_base(&self, of: ReducedView) -> (*const u8, usize) {
        let start = self.reduced_range(of).start;
        let each = 4 / of.numbers.bytes();
        let border = self.layout.border(of.numbers.zero_point());
        let offset = (each * border).wrapping_sub(each * start);
        (self.ptr(start).cast(), offset)
    }

    /// Returns the pixels of reduced numbers. Each task writes its own.
    pub(crate) fn reduced(&self, of: ReducedView) -> ReducedPixels<'a> {
        let range = self.reduced_range(of);
        ReducedPixels::new(self.ptr(range.start).cast(), 4 * range.len(), of)
    }

    /// Returns the address of float `at` of the allocation.
    pub(crate) fn ptr(&self, at: usize) -> *mut f32 {
        self.start.wrapping_add(at)
    }

    /// Returns the pixels of a view, to read.
    ///
    /// # Safety
    /// Nothing writes to the view's slot while they are used.
    pub(crate) unsafe fn source(&self, view: TensorView) -> InputPixels<'a> {
        let data = match view.place {
            ValuePlace::Input => self.samples(view),
            // SAFETY: the layout's ranges lie inside the buffer; nothing writes there.
            _ => unsafe { self.floats(self.range(view)) },
        };
        InputPixels { view, data }
    }

    /// Returns the pixels of `view` written by one task, counted over all samples.
    ///
    /// # Safety
    /// Nothing else reads or writes the view's channels of these pixels meanwhile.
    pub(crate) unsafe fn part(&self, view: TensorView, pixels: Range<usize>) -> OutputPixels<'a> {
        let range = self.range(view);
        let end = pixels.end * view.pitch;
        assert!(
            end <= range.len() || pixels.is_empty(),
            "pixels outside of their slot"
        );
        OutputPixels {
            // SAFETY: the layout's ranges lie inside the buffer.
            start: unsafe { self.start.add(range.start) },
            view,
            pixels,
            buffer: PhantomData,
        }
    }

    /// Returns the floats of a view's slot. Each task writes its own.
    pub(crate) fn output(&self, view: TensorView) -> OutputFloats<'a> {
        let range = self.range(view);
        OutputFloats {
            start: self.start.wrapping_add(range.start),
            len: range.len(),
            buffer: PhantomData,
        }
    }

    /// Returns a range of floats, to read.
    ///
    /// # Safety
    /// Nothing writes to them while the slice is used.
    pub(crate) unsafe fn floats(&self, range: Range<usize>) -> &'a [f32] {
        assert!(range.end <= self.len && range.start <= range.end);
        // SAFETY: inside the buffer, by the assertion; unwritten, by the caller.
        unsafe { std::slice::from_raw_parts(self.start.add(range.start), range.len()) }
    }

    /// Returns a range of floats used by only one task.
    ///
    /// # Safety
    /// Nothing else reads or writes them while the slice is used.
    pub(crate) unsafe fn floats_mut(&self, range: Range<usize>) -> &'a mut [f32] {
        assert!(range.end <= self.len && range.start <= range.end);
        // SAFETY: inside the buffer, by the assertion; unshared, by the caller.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

/// The pixels of a view, to read.
#[derive(Clone, Copy)]
pub(in crate::compute) struct InputPixels<'a> {
    pub view: TensorView,
    pub data: &'a [f32],
}

impl<'a> InputPixels<'a> {
    /// Returns the channels of pixel `pixel`, counted over all samples.
    #[inline(always)]
    pub(crate) fn pixel(&self, pixel: usize) -> &'a [f32] {
        let at = pixel * self.view.pitch + self.view.first;
        &self.data[at..at + self.view.channels]
    }
}

impl<'a> InputPixels<'a> {
    /// Returns the channels of neighbouring pixels, including the floats between them.
    #[inline(always)]
    pub(crate) fn run(&self, pixels: Range<usize>) -> &'a [f32] {
        match pixels.len() {
            0 => &[],
            len => {
                let at = pixels.start * self.view.pitch + self.view.first;
                &self.data[at..at + (len - 1) * self.view.pitch + self.view.channels]
            }
        }
    }

    /// Returns the pixels from pixel `first` on.
    pub(crate) fn starting_at(self, first: usize) -> Self {
        let data = &self.data[first * self.view.pitch..];
        InputPixels { data, ..self }
    }

    /// Returns the pixels of a view whose pixels are contiguous.
    pub(crate) fn dense_rows(data: &'a [f32], view: TensorView) -> Self {
        let view = TensorView {
            first: 0,
            pitch: view.channels,
            ..view
        };
        InputPixels { view, data }
    }
}

impl InputPixels<'_> {
    /// Returns the values of `samples` samples, one after another.
    pub(crate) fn dense(&self, samples: usize) -> Vec<f32> {
        let pixels = 0..samples * self.view.pixels();
        pixels.flat_map(|p| self.pixel(p)).copied().collect()
    }

    /// Returns the address of the first channel of pixel `pixel`.
    #[inline(always)]
    pub(crate) fn ptr(&self, pixel: usize) -> *const f32 {
        self.data[pixel * self.view.pitch + self.view.first..].as_ptr()
    }
}

/// The pixels of a view written by one task.
pub(in crate::compute) struct OutputPixels<'a> {
    start: *mut f32,
    view: TensorView,
    pub pixels: Range<usize>,
    buffer: PhantomData<&'a mut [f32]>,
}

impl<'a> OutputPixels<'a> {
    /// Returns the pixels of dense rows of `channels` floats. The first row belongs to pixel
    /// `pixels.start`.
    pub(crate) fn dense(floats: &'a mut [f32], view: TensorView, pixels: Range<usize>) -> Self {
        let view = TensorView {
            first: 0,
            pitch: view.channels,
            ..view
        };
        assert!(
            pixels.len() * view.pitch <= floats.len(),
            "rows outside of their floats"
        );
        let before = pixels.start * view.pitch;
        OutputPixels {
            start: floats.as_mut_ptr().wrapping_sub(before),
            view,
            pixels,
            buffer: PhantomData,
        }
    }
}

impl OutputPixels<'_> {
    /// Returns the same pixels, counted from the first of them.
    pub(crate) fn counted_from_first(self) -> Self {
        let before = self.pixels.start * self.view.pitch;
        OutputPixels {
            start: self.start.wrapping_add(before),
            pixels: 0..self.pixels.len(),
            ..self
        }
    }

    /// Returns the channels of pixel `pixel`, one of [`OutputPixels::pixels`].
    #[inline(always)]
    pub(crate) fn row(&mut self, pixel: usize) -> &mut [f32] {
        let start = self.ptr(pixel);
        // SAFETY: the pixel lies inside the slot, and only this part may write its channels; `&mut
        // self` hands out one row at a time.
        unsafe { std::slice::from_raw_parts_mut(start, self.view.channels) }
    }

    /// Returns the address of the first channel of pixel `pixel`, one of
    /// [`OutputPixels::pixels`].
    #[inline(always)]
    pub(crate) fn ptr(&self, pixel: usize) -> *mut f32 {
        assert!(self.pixels.contains(&pixel));
        let at = pixel * self.view.pitch + self.view.first;
        // Inside the slot, as was checked when the part was made.
        self.start.wrapping_add(at)
    }

    /// Returns the channels of neighbouring pixels of these, one pixel after another, or `None` if
    /// others lie between them.
    #[inline(always)]
    pub(crate) fn rows(&mut self, pixels: Range<usize>) -> Option<&mut [f32]> {
        let last = pixels.end.checked_sub(1)?;
        if !self.is_dense() && pixels.len() > 1 || !self.pixels.contains(&last) {
            return None;
        }
        let (start, len) = (self.ptr(pixels.start), pixels.len() * self.view.channels);
        // SAFETY: the pixels lie inside the slot and follow each other, and the part alone may write
        // them; `&mut self` hands out one run at a time.
        Some(unsafe { std::slice::from_raw_parts_mut(start, len) })
    }

    /// Returns whether its pixels are contiguous.
    pub(crate) fn is_dense(&self) -> bool {
        self.view.is_dense()
    }

    pub(crate) fn pitch(&self) -> usize {
        self.view.pitch
    }
}

/// The floats of a slot, from the first sample that is worked on.
#[derive(Clone, Copy)]
pub(in crate::compute) struct OutputFloats<'a> {
    start: *mut f32,
    len: usize,
    buffer: PhantomData<&'a mut [f32]>,
}

impl<'a> OutputFloats<'a> {
    /// Returns `len` floats from float `at` of the slot on.
    ///
    /// # Safety
    /// Nothing else reads or writes them while the slice is used.
    #[inline(always)]
    pub(crate) unsafe fn run(&self, at: usize, len: usize) -> &'a mut [f32] {
        let start = self.ptr(at, len);
        // SAFETY: inside the slot, as was checked; unshared, by the caller.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }

    /// Writes float `at` of the slot.
    ///
    /// # Safety
    /// Nothing else reads or writes it meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn set(&self, at: usize, value: f32) {
        // SAFETY: inside the slot, as is checked; unshared, by the caller.
        unsafe { *self.ptr(at, 1) = value }
    }

    /// Returns the address of float `at` of the slot. The slot holds at least `len` floats from
    /// there.
    #[inline(always)]
    pub(crate) fn ptr(&self, at: usize, len: usize) -> *mut f32 {
        assert!(at + len <= self.len, "floats outside of their slot");
        self.start.wrapping_add(at)
    }
}
