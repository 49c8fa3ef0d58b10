//! Images of brain floats, multiplied by a row of each sample or added to it, in one pass.

use std::ops::Range;

use super::super::channels::paired_value;
use super::super::dots::HalfKernel;
use super::super::reduced_pixels::ReducedPixels;
use super::super::task::Call;
#[cfg(target_arch = "x86_64")]
use super::super::vector::Avx512;
use super::super::vector::{Vector, Vectorised, dispatch};
use super::form::{HalfForm, ReducedForm};
#[cfg(target_arch = "x86_64")]
use super::native::NativeHalfForm;
use crate::compute::fuse::Pairing;

/// Pixels of one sample, whose channels are paired with a row.
#[derive(Clone, Copy)]
struct PairedPixels<'a> {
    pairing: Pairing,
    from: ReducedPixels<'a>,
    row: &'a [f32],
    to: ReducedPixels<'a>,
    first: usize,
    count: usize,
}

/// Pairs the image's pixels, all of one sample, with that sample's row. Applies no activation.
///
/// # Safety
/// Values are brain floats on both sides, with the same number of channels as the row; nothing
/// writes the image, and nothing else uses the pixels written.
pub(in super::super) unsafe fn pair(
    call: &Call<'_>,
    pairing: Pairing,
    from: ReducedPixels<'_>,
    to: ReducedPixels<'_>,
    row: &[f32],
    pixels: Range<usize>,
) {
    let work = PairedPixels {
        pairing,
        from,
        row,
        to,
        first: pixels.start,
        count: pixels.len(),
    };
    // SAFETY: the call's family is available; processors that multiply brain floats also round to
    // them.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if HalfKernel::for_family(call.family).is_native() {
            return native(work);
        }
        dispatch(call.family, work);
    }
}

impl Vectorised for PairedPixels<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.of_form::<V, _>(HalfForm) }
    }
}

impl PairedPixels<'_> {
    /// # Safety
    /// The processor has the vector's and the form's instructions; the pixels exist.
    #[inline(always)]
    unsafe fn of_form<V: Vector, F: ReducedForm>(self, form: F) {
        let channels = self.row.len();
        for pixel in self.first..self.first + self.count {
            let (from, to) = (self.from.ptr(pixel, 0), self.to.ptr(pixel, 0));
            let mut at = 0;
            // SAFETY: both sides have the row's channels.
            unsafe {
                while at + V::LANES <= channels {
                    let value = form.load::<V>(from.add(at * F::BYTES));
                    let row = V::load(self.row.as_ptr().add(at));
                    let answer = paired_value(self.pairing, value, row);
                    form.store(answer, to.add(at * F::BYTES));
                    at += V::LANES;
                }
                if at < channels {
                    let left = channels - at;
                    let value = form.load_part::<V>(from.add(at * F::BYTES), left);
                    let row = V::load_part(self.row.as_ptr().add(at), left);
                    let answer = paired_value(self.pairing, value, row);
                    form.store_part(answer, to.add(at * F::BYTES), left);
                }
            }
        }
    }
}

/// # Safety
/// As for [`PairedPixels::of_form`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn native(pixels: PairedPixels<'_>) {
    // SAFETY: guaranteed by the caller.
    unsafe { pixels.of_form::<Avx512, _>(NativeHalfForm) }
}
