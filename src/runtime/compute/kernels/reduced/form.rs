//! Reduced numbers, from floats and to floats.

use super::super::vector::Vector;
use crate::compute::reduced::ReducedNumbers;

/// Numbers of fewer bits.
///
/// # Safety
/// All methods: the processor has the vector's instructions, and as many numbers as are read or
/// written exist: one a lane, or `n` of the partial ones.
pub(in super::super) trait ReducedForm: Copy {
    /// Bytes of a number.
    const BYTES: usize;

    /// Returns the form of numbers, those of `bytes` if they are bytes.
    fn with(bytes: Bytes) -> Self;
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

/// The most bytes of the numbers of a vector: four of each of sixteen lanes.
const MOST_BYTES: usize = 64;

/// Floats, which are not reduced.
#[derive(Clone, Copy)]
pub(in super::super) struct Floats;

impl ReducedForm for Floats {
    const BYTES: usize = 4;

    #[inline(always)]
    fn with(_: Bytes) -> Self {
        Floats
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(self, from: *const u8) -> V {
        // SAFETY: handed on.
        unsafe { V::load(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store<V: Vector>(self, values: V, to: *mut u8) {
        // SAFETY: handed on.
        unsafe { values.store(to.cast()) }
    }
}

/// Brain floats.
#[derive(Clone, Copy)]
pub(in super::super) struct Bf16;

impl ReducedForm for Bf16 {
    const BYTES: usize = 2;

    #[inline(always)]
    fn with(_: Bytes) -> Self {
        Bf16
    }
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

/// Bytes, with what they need to become floats and to be made of floats.
#[derive(Clone, Copy)]
pub(in super::super) struct Bytes {
    scale: f32,
    inverse: f32,
    zero_point: i32,
    most: i32,
}

impl Bytes {
    /// Returns the form of these numbers; that of none stands for zeros.
    pub(in super::super) fn of(numbers: Option<ReducedNumbers>) -> Self {
        match numbers {
            Some(ReducedNumbers::Bytes(numbers)) => Bytes {
                scale: numbers.scale,
                inverse: 1.0 / numbers.scale,
                zero_point: numbers.zero_point as i32,
                most: numbers.most as i32,
            },
            _ => Bytes {
                scale: 0.0,
                inverse: 0.0,
                zero_point: 0,
                most: 0,
            },
        }
    }
}

impl ReducedForm for Bytes {
    const BYTES: usize = 1;

    #[inline(always)]
    fn with(bytes: Bytes) -> Self {
        bytes
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(self, from: *const u8) -> V {
        // SAFETY: handed on.
        unsafe {
            let whole = V::load_bytes(from).sub(V::splat(self.zero_point as f32));
            whole.mul(V::splat(self.scale))
        }
    }
    #[inline(always)]
    unsafe fn store<V: Vector>(self, values: V, to: *mut u8) {
        // SAFETY: handed on.
        unsafe {
            let steps = values.mul(V::splat(self.inverse));
            steps.store_bytes(self.zero_point, self.most, to);
        }
    }
}
