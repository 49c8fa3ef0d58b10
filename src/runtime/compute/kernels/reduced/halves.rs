//! Rows of floats as brain floats, after an activation, in one pass.

use super::super::accuracy::HalfAccuracy;
use super::super::activations::{ActivatedRows, TileRows, activate};
use super::super::dots::HalfKernel;
#[cfg(target_arch = "x86_64")]
use super::super::vector::Avx512;
use super::super::vector::{Vector, Vectorised, dispatch};
use super::form::{HalfForm, ReducedForm};
#[cfg(target_arch = "x86_64")]
use super::native::NativeHalfForm;
use crate::compute::family::Family;
use crate::network::Activation;

/// Rows of brain floats that are written.
#[derive(Clone, Copy)]
struct HalfRows<F> {
    form: F,
    to: *mut u8,
    /// Numbers from one row to the next.
    stride: usize,
}

impl<F: ReducedForm> HalfRows<F> {
    #[inline(always)]
    fn at(self, row: usize, column: usize) -> *mut u8 {
        self.to
            .wrapping_add((row * self.stride + column) * F::BYTES)
    }
}

impl<F: ReducedForm> ActivatedRows for HalfRows<F> {
    type Accuracy = HalfAccuracy;

    #[inline(always)]
    unsafe fn store<V: Vector>(self, answers: V, row: usize, column: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.form.store(answers, self.at(row, column)) }
    }
    #[inline(always)]
    unsafe fn store_part<V: Vector>(self, answers: V, row: usize, column: usize, n: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.form.store_part(answers, self.at(row, column), n) }
    }
}

/// Floats that become brain floats.
#[derive(Clone, Copy)]
pub(super) struct HalvesOfRows {
    pub activation: Option<Activation>,
    pub from: TileRows,
    pub to: *mut u8,
    /// Numbers from one row to the next.
    pub stride: usize,
}

impl HalvesOfRows {
    /// Writes the numbers.
    ///
    /// # Safety
    /// The processor has the instructions of `family`, the rows exist on both sides, and nothing
    /// else uses what is written.
    pub(super) unsafe fn write(self, family: Family) {
        // SAFETY: guaranteed by the caller; processors that multiply brain floats also round to
        // them.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if HalfKernel::for_family(family).is_native() {
                return native(self);
            }
            dispatch(family, self);
        }
    }

    /// # Safety
    /// As for [`HalvesOfRows::write`], with the vector's instructions, and the form's.
    #[inline(always)]
    unsafe fn of_form<V: Vector, F: ReducedForm>(self, form: F) {
        let (to, stride) = (self.to, self.stride);
        // SAFETY: guaranteed by the caller.
        unsafe { activate::<V, _>(self.activation, self.from, HalfRows { form, to, stride }) }
    }
}

impl Vectorised for HalvesOfRows {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.of_form::<V, _>(HalfForm) }
    }
}

/// # Safety
/// As for [`HalvesOfRows::write`], with the instructions of BF16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn native(rows: HalvesOfRows) {
    // SAFETY: guaranteed by the caller.
    unsafe { rows.of_form::<Avx512, _>(NativeHalfForm) }
}
