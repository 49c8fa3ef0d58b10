//! Products of bytes on aarch64, whose instructions multiply signed by signed bytes: values are made
//! signed as they are read.
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "each method is a few instructions, whose conditions are the trait's"
)]

use std::arch::aarch64::*;
use std::arch::asm;

use super::super::super::vector::Neon;
use super::{DotVector, WholeDot};

/// The number that is subtracted from values: from 0 to 255 they become -128 to 127.
pub(super) const SHIFT: i32 = 128;

/// Implements [`DotVector`] and [`WholeDot`] for sums to which `$dot` adds four products a lane.
macro_rules! signed_dot {
    ($ty:ident, $dot:ident) => {
        #[derive(Clone, Copy)]
        pub(in super::super::super) struct $ty(int32x4_t);

        impl DotVector for $ty {
            const BYTES: usize = 1;
            type Float = Neon;
            type Group = int8x16_t;

            #[inline(always)]
            unsafe fn zero() -> Self {
                $ty(vdupq_n_s32(0))
            }
            #[inline(always)]
            unsafe fn weights(from: *const f32) -> int8x16_t {
                vld1q_s8(from.cast())
            }
            #[inline(always)]
            unsafe fn spread(from: *const u8) -> int8x16_t {
                // Flipping the highest bit subtracts 128, as a signed number.
                let signed = from.cast::<u32>().read_unaligned() ^ 0x8080_8080;
                vreinterpretq_s8_u32(vdupq_n_u32(signed))
            }
            #[inline(always)]
            unsafe fn dot(self, values: int8x16_t, weights: int8x16_t) -> Self {
                $ty($dot(self.0, values, weights))
            }
        }

        impl WholeDot for $ty {
            const SHIFT: i32 = SHIFT;

            #[inline(always)]
            unsafe fn load(from: *const i32) -> Self {
                $ty(vld1q_s32(from))
            }
            #[inline(always)]
            unsafe fn less(self, times: i32, other: Self) -> Self {
                $ty(vmlsq_n_s32(self.0, other.0, times))
            }
            #[inline(always)]
            unsafe fn float(self) -> Neon {
                Neon(vcvtq_f32_s32(self.0))
            }
        }
    };
}

signed_dot!(NeonDot, dot);
signed_dot!(NeonWideDot, widening_dot);

/// Adds four products a lane by one instruction, whose intrinsic (`vdotq_s32`) is not stable.
#[inline(always)]
unsafe fn dot(sums: int32x4_t, values: int8x16_t, weights: int8x16_t) -> int32x4_t {
    let mut sums = sums;
    asm!(
        "sdot {sums:v}.4s, {values:v}.16b, {weights:v}.16b",
        sums = inout(vreg) sums,
        values = in(vreg) values,
        weights = in(vreg) weights,
        options(pure, nomem, nostack, preserves_flags),
    );
    sums
}

/// Adds four products to each lane; each two are first added in 16 bits.
#[inline(always)]
unsafe fn widening_dot(sums: int32x4_t, values: int8x16_t, weights: int8x16_t) -> int32x4_t {
    let low = vmull_s8(vget_low_s8(values), vget_low_s8(weights));
    let high = vmull_high_s8(values, weights);
    // Two products are from -2 · 128 · 127 to 2 · 128 · 127, which 16 bits hold.
    vpadalq_s16(sums, vpaddq_s16(low, high))
}
