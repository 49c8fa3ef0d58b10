//! Four floats (aarch64).
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "each method is one instruction, whose conditions are the trait's"
)]

use std::arch::aarch64::*;

use super::{Vector, Vectorised};

#[derive(Clone, Copy)]
pub(in crate::compute) struct Neon(pub(in super::super) float32x4_t);

/// Runs `work` with these instructions enabled.
///
/// # Safety
/// The processor has NEON; the conditions of `work` hold.
#[target_feature(enable = "neon")]
pub(super) unsafe fn with<W: Vectorised>(work: W) -> W::Output {
    work.run::<Neon>()
}

/// 2ⁿ, as its exponent's bits.
#[inline(always)]
unsafe fn power(n: int32x4_t) -> float32x4_t {
    vreinterpretq_f32_s32(vshlq_n_s32::<23>(vaddq_s32(n, vdupq_n_s32(127))))
}

impl Vector for Neon {
    const LANES: usize = 4;
    const TILE_VECTORS: usize = 4;
    const TILE_ROWS: [usize; 5] = [0, 12, 12, 8, 6];

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Neon(vdupq_n_f32(value))
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Neon(vld1q_f32(from))
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, n: usize) -> Self {
        let mut lanes = [0.0; 4];
        std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), n);
        Neon(vld1q_f32(lanes.as_ptr()))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        vst1q_f32(to, self.0);
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, n: usize) {
        let mut lanes = [0.0; 4];
        vst1q_f32(lanes.as_mut_ptr(), self.0);
        std::ptr::copy_nonoverlapping(lanes.as_ptr(), to, n);
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Neon(vaddq_f32(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Neon(vsubq_f32(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Neon(vmulq_f32(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        Neon(vdivq_f32(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn mul_add(self, a: Self, b: Self) -> Self {
        Neon(vfmaq_f32(self.0, a.0, b.0))
    }
    #[inline(always)]
    unsafe fn lower(self, other: Self) -> Self {
        Neon(vbslq_f32(vcltq_f32(self.0, other.0), self.0, other.0))
    }
    #[inline(always)]
    unsafe fn higher(self, other: Self) -> Self {
        Neon(vbslq_f32(vcgtq_f32(self.0, other.0), self.0, other.0))
    }
    #[inline(always)]
    unsafe fn lowest(self) -> f32 {
        vminvq_f32(self.0)
    }
    #[inline(always)]
    unsafe fn highest(self) -> f32 {
        vmaxvq_f32(self.0)
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        Neon(vmaxq_f32(self.0, vdupq_n_f32(0.0)))
    }
    #[inline(always)]
    unsafe fn at_most(self, most: f32) -> Self {
        Neon(vminq_f32(self.0, vdupq_n_f32(most)))
    }
    #[inline(always)]
    unsafe fn at_least(self, least: f32) -> Self {
        Neon(vmaxq_f32(self.0, vdupq_n_f32(least)))
    }
    #[inline(always)]
    unsafe fn where_below(self, bound: f32, then: Self, otherwise: Self) -> Self {
        let below = vcltq_f32(self.0, vdupq_n_f32(bound));
        Neon(vbslq_f32(below, then.0, otherwise.0))
    }
    #[inline(always)]
    unsafe fn times_two_to(self, n: Self) -> Self {
        // In two steps, because one factor alone could leave the range of normal numbers.
        let n = vcvtq_s32_f32(n.0);
        let half = vshrq_n_s32::<1>(n);
        let rest = vsubq_s32(n, half);
        Neon(vmulq_f32(vmulq_f32(self.0, power(half)), power(rest)))
    }
    #[inline(always)]
    unsafe fn nearest(self) -> Self {
        Neon(vrndnq_f32(self.0))
    }
    #[inline(always)]
    unsafe fn is_finite(self) -> bool {
        vaddvq_f32(vsubq_f32(self.0, self.0)) == 0.0
    }
    #[inline(always)]
    unsafe fn spread(self, _width: usize, i: usize) -> Self {
        let mut lanes = [0.0; 4];
        vst1q_f32(lanes.as_mut_ptr(), self.0);
        Neon(vdupq_n_f32(lanes[i & 3]))
    }
    #[inline(always)]
    unsafe fn halves(self) -> [Self; 2] {
        let bits = vreinterpretq_u32_f32(self.0);
        let low = vshlq_n_u32::<16>(bits);
        let high = vandq_u32(bits, vdupq_n_u32(0xffff_0000));
        [
            Neon(vreinterpretq_f32_u32(low)),
            Neon(vreinterpretq_f32_u32(high)),
        ]
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        let halves = from.cast::<[u16; 4]>().read_unaligned();
        Neon(vld1q_f32(
            halves
                .map(|half| f32::from_bits(u32::from(half) << 16))
                .as_ptr(),
        ))
    }
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16) {
        let lanes: [f32; 4] = {
            let mut lanes = [0.0; 4];
            vst1q_f32(lanes.as_mut_ptr(), self.0);
            lanes
        };
        let halves = lanes.map(|lane| half::bf16::from_f32(lane).to_bits());
        to.cast::<[u16; 4]>().write_unaligned(halves);
    }
    #[inline(always)]
    unsafe fn load_bytes(from: *const u8) -> Self {
        let bytes = from.cast::<[u8; 4]>().read_unaligned();
        Neon(vld1q_f32(bytes.map(f32::from).as_ptr()))
    }
    #[inline(always)]
    unsafe fn store_bytes(self, zero_point: i32, most: i32, to: *mut u8) {
        let lanes: [f32; 4] = {
            let mut lanes = [0.0; 4];
            vst1q_f32(lanes.as_mut_ptr(), self.0);
            lanes
        };
        let byte = |lane: f32| {
            let whole = lane.round_ties_even() as i32;
            whole.saturating_add(zero_point).clamp(0, most) as u8
        };
        to.cast::<[u8; 4]>().write_unaligned(lanes.map(byte));
    }
}
