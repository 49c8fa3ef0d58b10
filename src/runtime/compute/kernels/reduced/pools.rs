//! Pools of reduced numbers, read in place.

use std::ops::Range;

use super::super::memory::OutputPixels;
use super::super::reduced_pixels::ReducedPixels;
use super::super::resample::PixelWindow;
use super::super::task::Call;
use super::super::vector::{Vector, Vectorised, dispatch};
use super::form::{ByteForm, HalfForm, ReducedForm};
use crate::compute::buffers::ReducedView;
use crate::compute::reduced::ReducedNumbers;
use crate::network::Pool;

/// Maxima over windows. Rounding keeps the order of numbers, so the maxima are the rounded maxima.
struct MaxPool<'a> {
    pool: Pool,
    from: ReducedPixels<'a>,
    to: ReducedPixels<'a>,
    pixels: Range<usize>,
}

impl Vectorised for MaxPool<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the pixels exist, with numbers of these kinds; a bfloat16's address is even.
        unsafe {
            match self.from.of.numbers {
                ReducedNumbers::Bf16 => {
                    self.each(i16::MIN, |bits: u16| order(bits), bits_of);
                }
                ReducedNumbers::Bytes(_) => self.each(0, |byte: u8| byte, |byte| byte),
            }
        }
    }
}

/// Returns a number with the order of brain floats. NaN is the highest.
#[inline(always)]
fn order(bits: u16) -> i16 {
    let size = (bits & 0x7fff).cast_signed();
    match (size > INFINITY, bits & 0x8000 == 0) {
        (true, _) => i16::MAX,
        (false, true) => size,
        (false, false) => !size,
    }
}

/// Returns the brain float of an [`order`].
#[inline(always)]
fn bits_of(order: i16) -> u16 {
    match order < 0 {
        true => (!order).cast_unsigned() | 0x8000,
        false => order.cast_unsigned(),
    }
}

/// The bits of infinity.
const INFINITY: i16 = 0x7f80;

/// Channels whose maxima are found at a time.
const CHANNELS: usize = 64;

impl MaxPool<'_> {
    /// Finds the highest keys of each window from `least` on.
    ///
    /// # Safety
    /// The pixels exist, and have numbers of type `T`.
    #[inline(always)]
    unsafe fn each<T: Copy, K: Copy + Ord>(
        self,
        least: K,
        key: impl Fn(T) -> K,
        number: impl Fn(K) -> T,
    ) {
        let (from, to) = (self.from.of.view, self.to.of.view);
        for pixel in self.pixels.clone() {
            let window = PixelWindow::of_pool(self.pool, pixel, from, to);
            for first in (0..to.channels).step_by(CHANNELS) {
                let count = CHANNELS.min(to.channels - first);
                let mut best = [least; CHANNELS];
                for tap in window.taps() {
                    let at = self.from.ptr(tap, first).cast_const().cast();
                    // SAFETY: the pixel has `count` channels, and nothing writes them meanwhile.
                    let values: &[T] = unsafe { std::slice::from_raw_parts(at, count) };
                    for (best, &value) in best.iter_mut().zip(values) {
                        *best = (*best).max(key(value));
                    }
                }
                let at = self.to.ptr(pixel, first).cast();
                // SAFETY: as above; the task alone uses the pixel.
                let out: &mut [T] = unsafe { std::slice::from_raw_parts_mut(at, count) };
                for (to, &best) in out.iter_mut().zip(&best) {
                    *to = number(best);
                }
            }
        }
    }
}

/// Writes the maxima over the windows of a pool.
///
/// # Safety
/// The step reads and writes the same reduced numbers, and nothing else uses the numbers of the
/// pixels written.
pub(in super::super) unsafe fn max_pool(call: &Call<'_>, pool: Pool, pixels: Range<usize>) {
    let operands = &call.step.reduced;
    let input = operands.inputs.first().copied().flatten();
    let (Some(from), Some(to)) = (input, operands.output) else {
        return;
    };
    let work = MaxPool {
        pool,
        from: call.memory.reduced(from),
        to: call.memory.reduced(to),
        pixels,
    };
    // SAFETY: the call's family is available; a step never reads the slot that it writes.
    unsafe { dispatch(call.family, work) }
}

/// Means over whole images.
struct GlobalPool<'a, 'b> {
    from: ReducedPixels<'a>,
    to: &'b mut OutputPixels<'a>,
}

impl Vectorised for GlobalPool<'_, '_> {
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

impl GlobalPool<'_, '_> {
    /// # Safety
    /// The processor has the family's instructions, and the pixels exist.
    #[inline(always)]
    unsafe fn each<V: Vector, F: ReducedForm>(self, form: F) {
        let count = self.from.of.view.pixels();
        for sample in self.to.pixels.clone() {
            let row = self.to.row(sample);
            for first in (0..row.len()).step_by(V::LANES) {
                let lanes = V::LANES.min(row.len() - first);
                let to = row[first..].as_mut_ptr();
                // SAFETY: guaranteed by the caller; the pixels and the row have these channels.
                unsafe {
                    let mut sum = V::splat(0.0);
                    for pixel in sample * count..(sample + 1) * count {
                        let from = self.from.ptr(pixel, first);
                        sum = sum.add(match lanes == V::LANES {
                            true => form.load::<V>(from),
                            false => form.load_part::<V>(from, lanes),
                        });
                    }
                    let mean = sum.mul(V::splat(1.0 / count as f32));
                    match lanes == V::LANES {
                        true => mean.store(to),
                        false => mean.store_part(to, lanes),
                    }
                }
            }
        }
    }
}

/// Writes the means over the images of reduced numbers as floats.
///
/// # Safety
/// Nothing writes these numbers meanwhile.
pub(in super::super) unsafe fn global_pool<'a>(
    call: &Call<'a>,
    from: ReducedView,
    to: &mut OutputPixels<'a>,
) {
    let from = call.memory.reduced(from);
    // SAFETY: the call's family is available; nothing writes the pixels.
    unsafe { dispatch(call.family, GlobalPool { from, to }) }
}
