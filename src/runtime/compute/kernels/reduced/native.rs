//! Brain floats that the processor itself rounds.

use std::arch::x86_64::{__m256i, __m512, _mm256_storeu_si256, _mm512_cvtneps_pbh};

use super::super::vector::Vector;
use super::form::{ByteForm, HalfForm, ReducedForm};

/// Brain floats that the processor rounds itself; numbers below 2⁻¹²⁶ become 0.
///
/// # Safety
/// The vectors of all methods are those of AVX-512, and the processor also has BF16.
#[derive(Clone, Copy)]
pub(in super::super) struct NativeHalfForm;

impl ReducedForm for NativeHalfForm {
    const BYTES: usize = HalfForm::BYTES;
    const HAS_NAN: bool = HalfForm::HAS_NAN;

    #[inline(always)]
    fn with(_: ByteForm) -> Self {
        NativeHalfForm
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(self, from: *const u8) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { HalfForm.load(from) }
    }
    #[inline(always)]
    unsafe fn store<V: Vector>(self, values: V, to: *mut u8) {
        const { assert!(size_of::<V>() == size_of::<__m512>(), "another vector") };
        // SAFETY: the vectors are those of AVX-512, of the same length; 16 numbers exist.
        unsafe {
            let floats: __m512 = std::mem::transmute_copy(&values);
            let halves: __m256i = std::mem::transmute(_mm512_cvtneps_pbh(floats));
            _mm256_storeu_si256(to.cast(), halves);
        }
    }
    #[inline(always)]
    unsafe fn load_part<V: Vector>(self, from: *const u8, n: usize) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { HalfForm.load_part(from, n) }
    }
    #[inline(always)]
    unsafe fn store_part<V: Vector>(self, values: V, to: *mut u8, n: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { HalfForm.store_part(values, to, n) }
    }
}
