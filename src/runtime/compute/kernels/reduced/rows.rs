//! Rows of floats as reduced numbers, and the destinations of a step's tiles.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::activations::{RowActivation, TileRows};
use super::super::memory::OutputPixels;
use super::super::reduced_pixels::ReducedPixels;
use super::super::task::Call;
use super::super::vector::{Vector, Vectorised, dispatch};
use super::byte_rows::BytesOfRows;
use super::form::{ByteForm, HalfForm, ReducedForm};
use super::halves::HalvesOfRows;
use crate::compute::buffers::ReducedView;
use crate::compute::family::Family;
use crate::compute::reduced::ReducedNumbers;
use crate::network::Activation;

/// Rows of floats that become reduced numbers.
#[derive(Clone, Copy)]
struct ReduceRows {
    from: TileRows,
    to: *mut u8,
    /// Numbers from one row to the next.
    stride: usize,
    numbers: ReducedNumbers,
}

impl ReduceRows {
    /// Writes the numbers. Returns whether a NaN occurred that they cannot represent.
    ///
    /// # Safety
    /// The processor has the instructions of `family`, both sides have these rows, and nothing else
    /// uses what is written.
    unsafe fn write(self, family: Family) -> bool {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.numbers {
                ReducedNumbers::Bf16 => {
                    self.write_activated(family, None);
                    false
                }
                numbers => {
                    let (from, to, stride) = (self.from, self.to, self.stride);
                    let form = ByteForm::for_numbers(Some(numbers));
                    dispatch(
                        family,
                        BytesOfRows {
                            from,
                            to,
                            stride,
                            form,
                        },
                    )
                }
            }
        }
    }

    /// Writes the rows as brain floats after an activation.
    ///
    /// # Safety
    /// As for [`ReduceRows::write`].
    unsafe fn write_activated(self, family: Family, activation: Option<Activation>) {
        let (from, to, stride) = (self.from, self.to, self.stride);
        let rows = HalvesOfRows {
            activation,
            from,
            to,
            stride,
        };
        // SAFETY: guaranteed by the caller.
        unsafe { rows.write(family) }
    }
}

/// Writes floats as reduced numbers, and returns whether a NaN occurred that they cannot represent.
///
/// # Safety
/// The processor has the instructions of `family`.
pub(in super::super) unsafe fn reduce_run(
    family: Family,
    from: &[f32],
    to: &mut [u8],
    numbers: ReducedNumbers,
) -> bool {
    assert_eq!(from.len() * numbers.bytes(), to.len(), "bytes of numbers");
    let rows = TileRows {
        start: from.as_ptr().cast_mut(),
        stride: 0,
        rows: 1,
        columns: from.len(),
    };
    let work = ReduceRows {
        from: rows,
        to: to.as_mut_ptr(),
        stride: 0,
        numbers,
    };
    // SAFETY: guaranteed by the caller; both sides have these numbers, and floats are only read.
    unsafe { work.write(family) }
}

/// The destinations of a step's tiles: floats, reduced numbers, or both.
pub(in super::super) struct StepOutputs<'a> {
    family: Family,
    /// Pixels of a sample, and whether each sample's answer is NaN.
    each: usize,
    misses: &'a [AtomicBool],
    floats: Option<OutputPixels<'a>>,
    reduced: Option<ReducedPixels<'a>>,
}

/// The most floats of a tile.
pub(in super::super) const MOST_TILE: usize = 384;

impl<'a> StepOutputs<'a> {
    /// Returns the destinations of the task that computes `pixels`.
    ///
    /// # Safety
    /// Nothing else reads or writes the tiles' destinations meanwhile.
    pub(in super::super) unsafe fn for_task(call: &Call<'a>, pixels: Range<usize>) -> Self {
        let step = call.step;
        let reduced = step.reduced.output.map(|view| call.memory.reduced(view));
        if let (Some(out), Some(last)) = (reduced, pixels.clone().last()) {
            // Panics if the pixel lies outside of its slot.
            out.ptr(last, 0);
        }
        // SAFETY: guaranteed by the caller.
        let floats = || unsafe { call.memory.part(step.output, pixels) };
        StepOutputs {
            family: call.family,
            each: step.output.pixels(),
            misses: call.misses,
            floats: step.has_floats().then(floats),
            reduced,
        }
    }

    /// Returns whether a tile's floats are not kept.
    pub(in super::super) fn is_reduced_alone(&self) -> bool {
        self.floats.is_none()
    }

    /// Returns the destination of reduced numbers, or `None` if none are written.
    pub(in super::super) fn reduced(&self) -> Option<ReducedPixels<'a>> {
        self.reduced
    }

    /// Returns where a tile writes its floats, beginning at channel `first` of pixel `pixel`, and
    /// the floats from one row to the next. Floats that are not kept go to `buffer`, with rows of
    /// `columns`.
    pub(in super::super) fn floats(
        &self,
        pixel: usize,
        first: usize,
        buffer: *mut f32,
        columns: usize,
    ) -> (*mut f32, usize) {
        match &self.floats {
            Some(out) => (out.ptr(pixel).wrapping_add(first), out.pitch()),
            None => (buffer, columns),
        }
    }

    /// Writes a tile's floats as reduced numbers if requested, beginning at channel `first` of
    /// pixel `pixel`.
    ///
    /// # Safety
    /// The tile wrote these rows, and nothing else uses what is written.
    pub(in super::super) unsafe fn reduce(&self, pixel: usize, first: usize, from: TileRows) {
        let Some(work) = self.work(pixel, first, from) else {
            return;
        };
        // SAFETY: the call's family is available; the rows lie in the slot, since the task's pixels do.
        unsafe {
            if work.write(self.family) {
                self.miss(pixel, work);
            }
        }
    }

    /// Returns the rows that become reduced numbers, if these are wanted.
    fn work(&self, pixel: usize, first: usize, from: TileRows) -> Option<ReduceRows> {
        let out = self.reduced?;
        Some(ReduceRows {
            from,
            to: out.ptr(pixel, first),
            stride: out.of.view.pitch,
            numbers: out.of.numbers,
        })
    }

    /// As [`StepOutputs::reduce`], after an activation. Floats that are not kept may stay
    /// unchanged.
    ///
    /// # Safety
    /// As for [`StepOutputs::reduce`].
    pub(in super::super) unsafe fn activate(
        &self,
        pixel: usize,
        first: usize,
        from: TileRows,
        pass: Option<RowActivation>,
    ) {
        let halves = self
            .work(pixel, first, from)
            .filter(|work| self.is_reduced_alone() && work.numbers == ReducedNumbers::Bf16);
        // SAFETY: guaranteed by the caller.
        unsafe {
            if let (Some(pass), Some(halves)) = (pass, halves) {
                return halves.write_activated(self.family, Some(pass.activation()));
            }
            if let Some(pass) = pass {
                pass.rows(from);
            }
            self.reduce(pixel, first, from);
        }
    }

    /// Marks the samples with a NaN among the rows from pixel `first` on. Bytes have no NaN, but
    /// the answers of these samples must be NaN.
    ///
    /// # Safety
    /// As for [`StepOutputs::reduce`].
    #[cold]
    unsafe fn miss(&self, first: usize, rows: ReduceRows) {
        for row in 0..rows.from.rows {
            let from = TileRows {
                start: rows.from.start.wrapping_add(row * rows.from.stride),
                rows: 1,
                ..rows.from
            };
            let bytes = rows.stride * rows.numbers.bytes();
            let to = rows.to.wrapping_add(row * bytes);
            // SAFETY: guaranteed by the caller; this writes the row once more.
            let has_nan = unsafe { ReduceRows { from, to, ..rows }.write(self.family) };
            let sample = (first + row) / self.each.max(1);
            if let Some(missed) = self.misses.get(sample).filter(|_| has_nan) {
                missed.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Writes the floats of pixels as reduced numbers.
///
/// # Safety
/// The pixels' floats were written, and nothing else uses their reduced numbers.
pub(in super::super) unsafe fn reduce_pixels(call: &Call<'_>, pixels: Range<usize>) {
    let output = call.step.output;
    // SAFETY: guaranteed by the caller; nothing writes the floats meanwhile.
    unsafe {
        let outputs = StepOutputs::for_task(call, pixels.clone());
        let Some(floats) = outputs.floats.as_ref().filter(|_| !pixels.is_empty()) else {
            return;
        };
        let rows = TileRows {
            start: floats.ptr(pixels.start),
            stride: output.pitch,
            rows: pixels.len(),
            columns: output.channels,
        };
        outputs.reduce(pixels.start, 0, rows);
    }
}

/// Copies the reduced numbers of the inputs of a concatenation that were not written in place.
///
/// # Safety
/// The inputs have reduced numbers, and nothing else uses those of the pixels written.
pub(in super::super) unsafe fn join(call: &Call<'_>, pixels: Range<usize>) {
    let operands = &call.step.reduced;
    let Some(output) = operands.output else {
        return;
    };
    let (to, bytes) = (call.memory.reduced(output), output.numbers.bytes());
    let mut first = 0;
    for input in operands.inputs.iter().flatten() {
        let channels = input.view.channels;
        if input.view.place != output.view.place {
            let from = call.memory.reduced(*input);
            for pixel in pixels.clone() {
                let (from, to) = (from.ptr(pixel, 0), to.ptr(pixel, first));
                // SAFETY: both have these channels, in different slots.
                unsafe { std::ptr::copy_nonoverlapping(from, to, channels * bytes) };
            }
        }
        first += channels;
    }
}

/// Reads reduced numbers as contiguous rows of floats.
struct ExpandRows<'a> {
    from: ReducedPixels<'a>,
    pixels: Range<usize>,
    to: &'a mut [f32],
}

impl Vectorised for ExpandRows<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the pixels exist.
        unsafe {
            match self.from.of.numbers {
                ReducedNumbers::Bf16 => self.each::<V, HalfForm>(HalfForm),
                numbers => self.each::<V, ByteForm>(ByteForm::for_numbers(Some(numbers))),
            }
        }
    }
}

impl ExpandRows<'_> {
    /// # Safety
    /// The processor has the family's instructions, and the pixels exist.
    #[inline(always)]
    unsafe fn each<V: Vector, F: ReducedForm>(self, form: F) {
        let channels = self.from.of.view.channels;
        for (pixel, row) in self.pixels.zip(self.to.chunks_exact_mut(channels.max(1))) {
            let (from, to) = (self.from.ptr(pixel, 0), row.as_mut_ptr());
            let mut at = 0;
            // SAFETY: guaranteed by the caller; the row has the same number of floats.
            unsafe {
                while at + V::LANES <= channels {
                    form.load::<V>(from.add(at * F::BYTES)).store(to.add(at));
                    at += V::LANES;
                }
                if at < channels {
                    let left = channels - at;
                    let values = form.load_part::<V>(from.add(at * F::BYTES), left);
                    values.store_part(to.add(at), left);
                }
            }
        }
    }
}

/// Writes the floats represented by reduced numbers of pixels, one pixel after the other.
///
/// # Safety
/// Nothing writes these numbers meanwhile.
pub(in super::super) unsafe fn expand(
    call: &Call<'_>,
    from: ReducedView,
    pixels: Range<usize>,
    to: &mut [f32],
) {
    let work = ExpandRows {
        from: call.memory.reduced(from),
        pixels,
        to,
    };
    // SAFETY: the call's family is available; nothing writes the pixels.
    unsafe { dispatch(call.family, work) }
}
