//! Values rounded to half precision and to brain floats, ties to even, by operations that the compiler
//! makes vectors of: the conversions of a library are calls.

/// The sign of a float32.
const SIGN: u32 = 1 << 31;

/// The bits of a float32 that half precision has no room for.
const BEHIND_F16: u32 = 13;

/// The bits of a float32 that a brain float has no room for.
const BEHIND_BF16: u32 = 16;

/// The least normal number of half precision.
const LEAST_F16: f32 = 6.103_515_6e-5;

/// The largest number of half precision.
const MOST_F16: f32 = 65_504.0;

/// Numbers from here on have the spacing of half-precision numbers below [`LEAST_F16`].
const SUBNORMAL_F16: f32 = 0.5;

/// Returns a number without its last `behind` bits, rounded to the nearest, ties to even. A carry out
/// of the largest numbers makes an infinity.
#[inline(always)]
fn without(size: u32, behind: u32) -> u32 {
    let half = (1 << (behind - 1)) - 1;
    let tie = (size >> behind) & 1;
    (size + half + tie) & !((1 << behind) - 1)
}

/// Returns the nearest number of half precision.
#[inline(always)]
pub(super) fn to_f16(a: f32) -> f32 {
    let bits = a.to_bits();
    let size = bits & !SIGN;
    let large = f32::from_bits(without(size, BEHIND_F16));
    let small = f32::from_bits(size) + SUBNORMAL_F16 - SUBNORMAL_F16;
    let near = if f32::from_bits(size) < LEAST_F16 {
        small
    } else {
        large
    };
    let near = if near > MOST_F16 { f32::INFINITY } else { near };
    let near = f32::from_bits(near.to_bits() | bits & SIGN);
    if a.is_nan() { a } else { near }
}

/// Returns the nearest brain float.
#[inline(always)]
pub(super) fn to_bf16(a: f32) -> f32 {
    let bits = a.to_bits();
    let near = f32::from_bits(without(bits & !SIGN, BEHIND_BF16) | bits & SIGN);
    if a.is_nan() { a } else { near }
}

#[cfg(test)]
#[path = "../../../../../tests/runtime/units/compute/kernels/tensors/rounding.rs"]
mod tests;
