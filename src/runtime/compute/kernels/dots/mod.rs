//! Products of numbers of fewer bits, several to a sum, once for each kind of instructions.
//!
//! Values and weights of one sum lie in groups of four bytes: four bytes, or two brain floats. Each
//! lane multiplies a group of values with a group of weights.

mod bytes;
mod halves;
mod product;
mod rates;

use super::vector::Vector;

pub(in crate::compute) use bytes::DotKernel;
pub(super) use bytes::PlainDot;
#[cfg(target_arch = "aarch64")]
pub(super) use bytes::arm;
#[cfg(target_arch = "x86_64")]
pub(super) use bytes::x86;
pub(in crate::compute) use halves::HalfKernel;
pub(super) use halves::WidenedDot;
#[cfg(target_arch = "x86_64")]
pub(super) use halves::native;
pub(super) use product::multiply;
pub(in crate::compute) use rates::{half_speed, is_worth_using};

/// A vector of sums, one for each lane.
///
/// # Safety
/// All methods: the processor has the kernel's instructions, and pointers cover the bytes read: a
/// group for each lane, or one group.
pub(super) trait DotVector: Copy {
    /// Bytes of a number.
    const BYTES: usize;
    /// As many floats.
    type Float: Vector;
    /// A group a lane.
    type Group: Copy;

    unsafe fn zero() -> Self;
    /// A group of weights a lane.
    unsafe fn weights(from: *const f32) -> Self::Group;
    /// The same group of values in every lane.
    unsafe fn spread(from: *const u8) -> Self::Group;
    /// Adds to `self`, in each lane, the products of a group of values with a group of weights.
    /// Bytes are values from 0 to the kernel's largest exact value, and weights from -128 to 127.
    unsafe fn dot(self, values: Self::Group, weights: Self::Group) -> Self;
}

/// A vector of sums of 32 bits.
///
/// # Safety
/// As for [`DotVector`]; loads reach a number a lane.
pub(super) trait WholeDot: DotVector {
    /// The number subtracted from values before they are multiplied. Sums lack this number times
    /// the sum of their weights.
    const SHIFT: i32 = 0;

    /// A number a lane.
    unsafe fn load(from: *const i32) -> Self;
    /// `self - times · other`, modulo 2³².
    unsafe fn less(self, times: i32, other: Self) -> Self;
    /// Each number as the nearest float.
    unsafe fn float(self) -> Self::Float;
}

/// A vector of sums in float32.
///
/// # Safety
/// As for [`DotVector`].
pub(super) trait FloatDot: DotVector {
    /// The sums as floats.
    unsafe fn float(self) -> Self::Float;
    /// Floats as sums.
    fn from_floats(floats: Self::Float) -> Self;
}
