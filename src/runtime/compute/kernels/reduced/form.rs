//! Reduced numbers, from floats and to floats.

use super::super::vector::Vector;

/// Numbers of fewer bits.
///
/// # Safety
/// All methods: the processor has the vector's instructions, and as many numbers as are read or
/// written exist: one a lane, or `n` of the partial ones.
pub(super) trait ReducedForm: Copy {
    /// Bytes of a number.
    const BYTES: usize;

    unsafe fn load<V: Vector>(self, from: *const u8) -> V;
    unsafe fn store<V: Vector>(self, values: V, to: *mut u8);

    /// The first `n < LANES` numbers; any in the other lanes.
    #[inline(always)]
    unsafe fn load_part<V: Vector>(self, from: *const u8, n: usize) -> V {
        let mut numbers = [0; MOST_BYTES];
        // SAFETY: `n` numbers exist, and those of all lanes fit.
        unsafe {
            std::ptr::copy_nonoverlapping(from, numbers.as_mut_ptr(), n * Self::BYTES);
            self.load(numbers.as_ptr())
        }
    }

    /// The first `n < LANES` numbers.
    #[inline(always)]
    unsafe fn store_part<V: Vector>(self, values: V, to: *mut u8, n: usize) {
        let mut numbers = [0; MOST_BYTES];
        // SAFETY: as for loads.
        unsafe {
            self.store(values, numbers.as_mut_ptr());
            std::ptr::copy_nonoverlapping(numbers.as_ptr(), to, n * Self::BYTES);
        }
    }
}

/// The most bytes of the numbers of a vector: two of each of sixteen lanes.
const MOST_BYTES: usize = 32;

/// Brain floats.
#[derive(Clone, Copy)]
pub(super) struct Bf16;

impl ReducedForm for Bf16 {
    const BYTES: usize = 2;

    #[inline(always)]
    unsafe fn load<V: Vector>(self, from: *const u8) -> V {
        // SAFETY: handed on.
        unsafe { V::load_bf16(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store<V: Vector>(self, values: V, to: *mut u8) {
        // SAFETY: handed on.
        unsafe { values.store_bf16(to.cast()) }
    }
}
