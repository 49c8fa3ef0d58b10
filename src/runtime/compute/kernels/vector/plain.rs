//! Four floats without particular instructions; the compiler vectorises them as it may.
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "each method reads or writes what the trait allows"
)]

use super::Vector;

#[derive(Clone, Copy)]
pub(in crate::compute) struct Plain(pub(in super::super) [f32; 4]);

impl Plain {
    #[inline(always)]
    fn with(self, other: Self, each: impl Fn(f32, f32) -> f32) -> Self {
        Plain(std::array::from_fn(|i| each(self.0[i], other.0[i])))
    }
}

/// 2ⁿ, as its exponent's bits.
#[inline(always)]
fn power(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

impl Vector for Plain {
    const LANES: usize = 4;
    const TILE_VECTORS: usize = 2;
    const TILE_ROWS: [usize; 5] = [0, 6, 4, 0, 0];

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Plain([value; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Plain(from.cast::<[f32; 4]>().read_unaligned())
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, n: usize) -> Self {
        let mut lanes = [0.0; 4];
        std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), n);
        Plain(lanes)
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        to.cast::<[f32; 4]>().write_unaligned(self.0);
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, n: usize) {
        std::ptr::copy_nonoverlapping(self.0.as_ptr(), to, n);
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        self.with(other, |a, b| a / b)
    }
    #[inline(always)]
    unsafe fn mul_add(self, a: Self, b: Self) -> Self {
        self.add(a.mul(b))
    }
    #[inline(always)]
    unsafe fn lower(self, other: Self) -> Self {
        self.with(other, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    unsafe fn higher(self, other: Self) -> Self {
        self.with(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    unsafe fn lowest(self) -> f32 {
        self.0.into_iter().fold(f32::INFINITY, f32::min)
    }
    #[inline(always)]
    unsafe fn highest(self) -> f32 {
        self.0.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        Plain(self.0.map(|v| if v < 0.0 { 0.0 } else { v }))
    }
    #[inline(always)]
    unsafe fn at_most(self, most: f32) -> Self {
        Plain(self.0.map(|v| if v > most { most } else { v }))
    }
    #[inline(always)]
    unsafe fn at_least(self, least: f32) -> Self {
        Plain(self.0.map(|v| if v < least { least } else { v }))
    }
    #[inline(always)]
    unsafe fn where_below(self, bound: f32, then: Self, otherwise: Self) -> Self {
        let pick = |i: usize| {
            if self.0[i] < bound {
                then.0[i]
            } else {
                otherwise.0[i]
            }
        };
        Plain(std::array::from_fn(pick))
    }
    #[inline(always)]
    unsafe fn times_two_to(self, n: Self) -> Self {
        // In two steps, because one factor alone could leave the range of normal numbers.
        self.with(n, |value, n| {
            let half = n as i32 >> 1;
            value * power(half) * power(n as i32 - half)
        })
    }
    #[inline(always)]
    unsafe fn nearest(self) -> Self {
        Plain(self.0.map(f32::round_ties_even))
    }
    #[inline(always)]
    unsafe fn is_finite(self) -> bool {
        self.0.iter().all(|v| v.is_finite())
    }
    #[inline(always)]
    unsafe fn spread(self, _width: usize, i: usize) -> Self {
        Plain([self.0[i & 3]; 4])
    }
    #[inline(always)]
    unsafe fn halves(self) -> [Self; 2] {
        let bits = self.0.map(f32::to_bits);
        let low = bits.map(|bits| f32::from_bits(bits << 16));
        let high = bits.map(|bits| f32::from_bits(bits & 0xffff_0000));
        [Plain(low), Plain(high)]
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        let halves = from.cast::<[u16; 4]>().read_unaligned();
        Plain(halves.map(|half| f32::from_bits(u32::from(half) << 16)))
    }
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16) {
        let lanes: [f32; 4] = self.0;
        let halves = lanes.map(|lane| half::bf16::from_f32(lane).to_bits());
        to.cast::<[u16; 4]>().write_unaligned(halves);
    }
    #[inline(always)]
    unsafe fn load_bytes(from: *const u8) -> Self {
        let bytes = from.cast::<[u8; 4]>().read_unaligned();
        Plain(bytes.map(f32::from))
    }
    #[inline(always)]
    unsafe fn store_bytes(self, zero_point: i32, most: i32, to: *mut u8) {
        let lanes: [f32; 4] = self.0;
        let byte = |lane: f32| {
            let whole = lane.round_ties_even() as i32;
            whole.saturating_add(zero_point).clamp(0, most) as u8
        };
        to.cast::<[u8; 4]>().write_unaligned(lanes.map(byte));
    }
}
