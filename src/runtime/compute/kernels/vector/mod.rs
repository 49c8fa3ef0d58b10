//! A vector of floats, once for each family of kernels.
//!
//! Kernels are written once, over [`Vector`], and compiled for each family inside a function that
//! enables the family's instructions ([`dispatch`]).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;

#[cfg(target_arch = "x86_64")]
pub(in crate::compute) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(in crate::compute) use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
pub(in crate::compute) use neon::Neon;
pub(in crate::compute) use plain::Plain;

use crate::compute::family::Family;

/// The most lanes of a vector.
const MOST_LANES: usize = 16;

/// A vector of `LANES` floats, which one instruction operates on.
///
/// # Safety
/// All methods: the processor has the family's instructions, and pointers reach as many
/// floats as are read or written (`LANES`, or `n` of the partial ones).
pub(in crate::compute) trait Vector: Copy {
    /// Floats in a vector.
    const LANES: usize;
    /// The vectors and rows of a product's tile that the registers hold: `TILE_ROWS[n]` rows for a
    /// tile of `n` vectors.
    const TILE_VECTORS: usize;
    const TILE_ROWS: [usize; 5];

    unsafe fn splat(value: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    /// The first `n < LANES` floats; zero in the others.
    unsafe fn load_part(from: *const f32, n: usize) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// The first `n < LANES` floats only.
    unsafe fn store_part(self, to: *mut f32, n: usize);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    /// Returns `1 / self`, with a relative error of at most 2⁻¹⁴; 0 or more exact if the answer is
    /// below 2⁻¹²⁶.
    #[inline(always)]
    unsafe fn approximate_reciprocal(self) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::splat(1.0).div(self) }
    }
    /// `self + a · b`.
    unsafe fn mul_add(self, a: Self, b: Self) -> Self;
    /// Returns the lower of each lane, or that of `other` if either is NaN.
    unsafe fn lower(self, other: Self) -> Self;
    /// Returns the higher of each lane, or that of `other` if either is NaN.
    unsafe fn higher(self, other: Self) -> Self;
    /// The lowest of all lanes, which are not NaN.
    unsafe fn lowest(self) -> f32;
    /// The highest of all lanes, which are not NaN.
    unsafe fn highest(self) -> f32;
    /// `max(self, 0)` that keeps NaN.
    unsafe fn relu(self) -> Self;
    /// `min(self, most)` that keeps NaN.
    unsafe fn at_most(self, most: f32) -> Self;
    /// `max(self, least)` that keeps NaN.
    unsafe fn at_least(self, least: f32) -> Self;
    /// Returns `then` in lanes with `self < bound`, else (and if either is NaN) `otherwise`.
    unsafe fn where_below(self, bound: f32, then: Self, otherwise: Self) -> Self;
    /// `self · 2ⁿ` for whole numbers n from -250 to 250; underflow is gradual.
    unsafe fn times_two_to(self, n: Self) -> Self;
    /// The nearest whole numbers, half to even, of numbers within ±2²².
    unsafe fn nearest(self) -> Self;
    /// Returns whether every lane is finite.
    unsafe fn is_finite(self) -> bool;
    /// Copies lane `i` of each run of `width` lanes (4 or 8, at most `LANES`) to all lanes of
    /// the run.
    unsafe fn spread(self, width: usize, i: usize) -> Self;
    /// The two halves of each lane as floats, the lower one first: brain floats in pairs.
    unsafe fn halves(self) -> [Self; 2];
    /// As many brain floats, which are halves of floats.
    unsafe fn load_bf16(from: *const u16) -> Self;
    /// The first `n < LANES` of them; any in the other lanes.
    #[inline(always)]
    unsafe fn load_bf16_part(from: *const u16, n: usize) -> Self {
        let mut halves = [0; MOST_LANES];
        // SAFETY: `n` numbers exist, and all lanes fit.
        unsafe {
            std::ptr::copy_nonoverlapping(from, halves.as_mut_ptr(), n);
            Self::load_bf16(halves.as_ptr())
        }
    }
    /// The nearest brain floats, half to even; NaN stays NaN.
    unsafe fn store_bf16(self, to: *mut u16);
    /// The first `n < LANES` of them only.
    #[inline(always)]
    unsafe fn store_bf16_part(self, to: *mut u16, n: usize) {
        let mut halves = [0; MOST_LANES];
        // SAFETY: as for loads.
        unsafe {
            self.store_bf16(halves.as_mut_ptr());
            std::ptr::copy_nonoverlapping(halves.as_ptr(), to, n);
        }
    }
    /// As many bytes.
    unsafe fn load_bytes(from: *const u8) -> Self;
    /// The nearest whole numbers, half to even, each with `zero_point` added, as bytes from 0 to `most`;
    /// one of these two of NaN. The zero point is one of them.
    unsafe fn store_bytes(self, zero_point: i32, most: i32, to: *mut u8);
    /// Brings the line of memory at an address into the first-level cache, if there is an
    /// instruction for it. Any address is allowed: nothing is read.
    #[inline(always)]
    unsafe fn prefetch_l1(_at: *const f32) {}
    /// Brings the line of memory at an address into the second-level cache, as
    /// [`Vector::prefetch_l1`] into the first.
    #[inline(always)]
    unsafe fn prefetch_l2(_at: *const f32) {}
}

/// Code over vectors of any family. `run` must be `#[inline(always)]`, because a family's
/// instructions may only be used in code that [`dispatch`] has enabled them for.
pub(in crate::compute) trait Vectorised {
    /// The result.
    type Output;

    /// # Safety
    /// The processor has the family's instructions; the implementor's conditions hold.
    unsafe fn run<V: Vector>(self) -> Self::Output;
}

/// Runs `work` with the vectors of `family`.
///
/// # Safety
/// `family.is_available()`, and the conditions of `work` hold.
pub(in crate::compute) unsafe fn dispatch<W: Vectorised>(family: Family, work: W) -> W::Output {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match family {
            #[cfg(target_arch = "x86_64")]
            Family::Avx512 => avx512::with(work),
            #[cfg(target_arch = "x86_64")]
            Family::Avx2Vnni | Family::Avx2 => avx2::with(work),
            #[cfg(target_arch = "aarch64")]
            Family::NeonDot | Family::Neon => neon::with(work),
            _ => work.run::<Plain>(),
        }
    }
}
