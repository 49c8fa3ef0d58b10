//! Reduced numbers, from floats and to floats.

use super::super::vector::Vector;
use crate::compute::reduced::ReducedNumbers;

/// Numbers of fewer bits.
///
/// # Safety
/// All methods: the processor has the vector's instructions, and as many numbers as are read or
/// written exist: one a lane, or `n` of the partial ones.
pub(in super::super) trait ReducedForm: Copy {
    /// ByteForm of a number.
    const BYTES: usize;
    /// Whether NaN is one of these numbers.
    const HAS_NAN: bool;

    /// Returns the form of numbers; for bytes, the form is `bytes`.
    fn with(bytes: ByteForm) -> Self;
    unsafe fn load<V: Vector>(self, from: *const u8) -> V;
    unsafe fn store<V: Vector>(self, values: V, to: *mut u8);

    /// The first `n < LANES` numbers; any in the other lanes.
    #[inline(always)]
    unsafe fn load_part<V: Vector>(self, from: *const u8, n: usize) -> V {
        // SAFETY: `n` numbers exist, and all lanes fit.
        unsafe { self.load(copied(from, n * Self::BYTES).as_ptr()) }
    }

    /// The first `n < LANES` numbers.
    #[inline(always)]
    unsafe fn store_part<V: Vector>(self, values: V, to: *mut u8, n: usize) {
        let mut numbers = [0; MOST_BYTES];
        // SAFETY: as for loads.
        unsafe {
            self.store(values, numbers.as_mut_ptr());
            copy(&numbers, to, n * Self::BYTES);
        }
    }
}

/// Returns the first bytes at an address, followed by zeros. A separate function keeps tiles short.
///
/// # Safety
/// The bytes exist, and are at most [`MOST_BYTES`].
#[inline(never)]
unsafe fn copied(from: *const u8, bytes: usize) -> [u8; MOST_BYTES] {
    let mut numbers = [0; MOST_BYTES];
    // SAFETY: guaranteed by the caller.
    unsafe { std::ptr::copy_nonoverlapping(from, numbers.as_mut_ptr(), bytes) };
    numbers
}

/// Copies the first bytes of numbers to an address.
///
/// # Safety
/// The bytes exist on both sides.
#[inline(never)]
unsafe fn copy(numbers: &[u8; MOST_BYTES], to: *mut u8, bytes: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { std::ptr::copy_nonoverlapping(numbers.as_ptr(), to, bytes) };
}

/// The most bytes of the numbers of a vector: four of each of sixteen lanes.
const MOST_BYTES: usize = 64;

/// FloatForm, which are not reduced.
#[derive(Clone, Copy)]
pub(in super::super) struct FloatForm;

impl ReducedForm for FloatForm {
    const BYTES: usize = 4;
    const HAS_NAN: bool = true;

    #[inline(always)]
    fn with(_: ByteForm) -> Self {
        FloatForm
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(self, from: *const u8) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { V::load(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store<V: Vector>(self, values: V, to: *mut u8) {
        // SAFETY: guaranteed by the caller.
        unsafe { values.store(to.cast()) }
    }
    #[inline(always)]
    unsafe fn load_part<V: Vector>(self, from: *const u8, n: usize) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { V::load_part(from.cast(), n) }
    }
    #[inline(always)]
    unsafe fn store_part<V: Vector>(self, values: V, to: *mut u8, n: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { values.store_part(to.cast(), n) }
    }
}

/// Brain floats.
#[derive(Clone, Copy)]
pub(in super::super) struct HalfForm;

impl ReducedForm for HalfForm {
    const BYTES: usize = 2;
    const HAS_NAN: bool = true;

    #[inline(always)]
    fn with(_: ByteForm) -> Self {
        HalfForm
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(self, from: *const u8) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { V::load_bf16(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store<V: Vector>(self, values: V, to: *mut u8) {
        // SAFETY: guaranteed by the caller.
        unsafe { values.store_bf16(to.cast()) }
    }
    #[inline(always)]
    unsafe fn load_part<V: Vector>(self, from: *const u8, n: usize) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { V::load_bf16_part(from.cast(), n) }
    }
    #[inline(always)]
    unsafe fn store_part<V: Vector>(self, values: V, to: *mut u8, n: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { values.store_bf16_part(to.cast(), n) }
    }
}

/// Bytes, with the constants of their conversion from and to floats.
#[derive(Clone, Copy)]
pub(in super::super) struct ByteForm {
    scale: f32,
    inverse: f32,
    zero_point: i32,
    most: i32,
}

impl ByteForm {
    /// Returns the form of these numbers. The form of `None` represents zeros.
    pub(in super::super) fn for_numbers(numbers: Option<ReducedNumbers>) -> Self {
        match numbers {
            Some(ReducedNumbers::Bytes(numbers)) => ByteForm {
                scale: numbers.scale,
                inverse: 1.0 / numbers.scale,
                zero_point: numbers.zero_point as i32,
                most: numbers.most as i32,
            },
            _ => ByteForm {
                scale: 0.0,
                inverse: 0.0,
                zero_point: 0,
                most: 0,
            },
        }
    }
}

impl ByteForm {
    /// Returns the size of one step.
    #[inline(always)]
    pub(super) fn scale(self) -> f32 {
        self.scale
    }

    /// Returns the steps to 1.
    #[inline(always)]
    pub(super) fn steps(self) -> f32 {
        self.inverse
    }

    /// Rounds steps to those that bytes represent, half to even.
    ///
    /// # Safety
    /// As for [`ReducedForm`].
    #[inline(always)]
    pub(super) unsafe fn nearest<V: Vector>(self, steps: V) -> V {
        let least = -self.zero_point as f32;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let bounded = steps.at_least(least).at_most(least + self.most as f32);
            bounded.nearest()
        }
    }

    /// Rounds values to those that bytes represent, half to even.
    ///
    /// # Safety
    /// As for [`ReducedForm`].
    #[inline(always)]
    pub(super) unsafe fn round<V: Vector>(self, values: V) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let steps = values.mul(V::splat(self.inverse));
            self.nearest(steps).mul(V::splat(self.scale))
        }
    }

    /// Returns the form of the same bytes as steps of other numbers.
    #[inline(always)]
    pub(super) fn as_steps_of(self, other: ByteForm) -> ByteForm {
        ByteForm {
            scale: self.scale * other.inverse,
            ..self
        }
    }
}

/// Steps of numbers that bytes represent, which need no scale.
#[derive(Clone, Copy)]
pub(super) struct StepForm(ByteForm);

impl StepForm {
    /// Returns the form of the steps of numbers.
    #[inline(always)]
    pub(super) fn for_steps(numbers: ByteForm) -> Self {
        StepForm(numbers)
    }
}

impl ReducedForm for StepForm {
    const BYTES: usize = 1;
    const HAS_NAN: bool = false;

    #[inline(always)]
    fn with(bytes: ByteForm) -> Self {
        StepForm(bytes)
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(self, from: *const u8) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { V::load_bytes(from).sub(V::splat(self.0.zero_point as f32)) }
    }
    #[inline(always)]
    unsafe fn store<V: Vector>(self, values: V, to: *mut u8) {
        // SAFETY: guaranteed by the caller.
        unsafe { values.store_bytes(self.0.zero_point, self.0.most, to) }
    }
}

impl ReducedForm for ByteForm {
    const BYTES: usize = 1;
    const HAS_NAN: bool = false;

    #[inline(always)]
    fn with(bytes: ByteForm) -> Self {
        bytes
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(self, from: *const u8) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let whole = V::load_bytes(from).sub(V::splat(self.zero_point as f32));
            whole.mul(V::splat(self.scale))
        }
    }
    #[inline(always)]
    unsafe fn store<V: Vector>(self, values: V, to: *mut u8) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let steps = values.mul(V::splat(self.inverse));
            steps.store_bytes(self.zero_point, self.most, to);
        }
    }
}
