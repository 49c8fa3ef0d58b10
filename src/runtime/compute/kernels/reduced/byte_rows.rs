//! Rows of floats as bytes.

use super::super::activations::TileRows;
use super::super::vector::{Vector, Vectorised};
use super::form::{ByteForm, ReducedForm, StepForm};

/// Writes rows of floats as bytes, and returns whether a NaN occurred, which bytes cannot
/// represent.
#[derive(Clone, Copy)]
pub(super) struct BytesOfRows {
    pub from: TileRows,
    pub to: *mut u8,
    /// Numbers from one row to the next.
    pub stride: usize,
    pub form: ByteForm,
}

impl Vectorised for BytesOfRows {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> bool {
        let columns = self.from.columns;
        // Divided, not multiplied by the inverse, as a rounding in float32 does.
        let form = StepForm::for_steps(self.form);
        // SAFETY: guaranteed by the caller.
        let (mut seen, scale) = unsafe { (NanSeen::<V>::new(), V::splat(self.form.scale())) };
        for row in 0..self.from.rows {
            let from = self.from.start.wrapping_add(row * self.from.stride);
            let to = self.to.wrapping_add(row * self.stride);
            let mut at = 0;
            // SAFETY: both sides have these rows.
            unsafe {
                while at + V::LANES <= columns {
                    let values = V::load(from.add(at));
                    seen.check(values);
                    form.store(values.div(scale), to.add(at));
                    at += V::LANES;
                }
                if at < columns {
                    let left = columns - at;
                    let values = V::load_part(from.add(at), left);
                    seen.check(values);
                    form.store_part(values.div(scale), to.add(at), left);
                }
            }
        }
        // SAFETY: guaranteed by the caller.
        unsafe { seen.any() }
    }
}

/// Whether values that become bytes included a NaN.
struct NanSeen<V> {
    /// Zeros, or NaN.
    zeros: V,
}

impl<V: Vector> NanSeen<V> {
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: guaranteed by the caller.
        NanSeen {
            zeros: unsafe { V::splat(0.0) },
        }
    }

    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn check(&mut self, values: V) {
        // SAFETY: guaranteed by the caller. Infinities saturate like all numbers beyond the range.
        unsafe {
            let bounded = values.at_most(f32::MAX).at_least(f32::MIN);
            self.zeros = self.zeros.mul_add(bounded, V::splat(0.0));
        }
    }

    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn any(self) -> bool {
        // SAFETY: guaranteed by the caller.
        unsafe { !self.zeros.is_finite() }
    }
}
