//! Sums of products of reduced numbers: what they begin with, and what they stand for.

use super::super::dots::{DotVector, FloatDot, PlainDot, WholeDot, WidenedDot};
use super::super::vector::Vector;
use super::form::{ByteForm, HalfForm, ReducedForm};
use super::operands::ReducedTile;

/// A vector of sums of a tile.
///
/// # Safety
/// All methods: the processor has the kernel's instructions, and the tile has a vector's worth of
/// columns from `column` on.
pub(super) trait ReducedSums: DotVector {
    /// The numbers of values.
    type Form: ReducedForm;

    /// The sums before any product.
    unsafe fn begin(tile: &ReducedTile, column: usize) -> Self;
    /// The numbers that the sums stand for, with their bias.
    unsafe fn end(self, tile: &ReducedTile, column: usize) -> Self::Float;
}

/// Returns the bias of columns, or zeros without one.
///
/// # Safety
/// As for [`ReducedSums`].
#[inline(always)]
unsafe fn bias<V: Vector>(tile: &ReducedTile, column: usize) -> V {
    // SAFETY: bias is null or has a vector's worth.
    unsafe {
        match tile.end.bias.is_null() {
            true => V::splat(0.0),
            false => V::load(tile.end.bias.add(column)),
        }
    }
}

/// Implements [`ReducedSums`] for sums in float32, which begin with the bias.
macro_rules! of_floats {
    ($($generic:ident)?, $ty:ty) => {
        impl $(<$generic: Vector>)? ReducedSums for $ty {
            type Form = HalfForm;

            #[inline(always)]
            unsafe fn begin(tile: &ReducedTile, column: usize) -> Self {
                // SAFETY: handed on.
                Self::of(unsafe { bias(tile, column) })
            }
            #[inline(always)]
            unsafe fn end(self, _: &ReducedTile, _: usize) -> Self::Float {
                // SAFETY: handed on.
                unsafe { self.float() }
            }
        }
    };
}

/// Implements [`ReducedSums`] for whole sums, which begin with what the zero point of values takes
/// away.
macro_rules! of_bytes {
    ($ty:ty) => {
        impl ReducedSums for $ty {
            type Form = ByteForm;

            #[inline(always)]
            unsafe fn begin(tile: &ReducedTile, column: usize) -> Self {
                // SAFETY: handed on.
                unsafe { Self::load(tile.starts.add(column)) }
            }
            #[inline(always)]
            unsafe fn end(self, tile: &ReducedTile, column: usize) -> Self::Float {
                // SAFETY: handed on.
                unsafe {
                    let scale = Self::Float::load(tile.scales.add(column));
                    bias::<Self::Float>(tile, column).mul_add(self.float(), scale)
                }
            }
        }
    };
}

of_floats!(V, WidenedDot<V>);
of_bytes!(PlainDot);

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::super::dots::arm::{NeonDot, NeonWideDot};
    use super::{ByteForm, ReducedSums, ReducedTile, Vector, WholeDot, bias};

    of_bytes!(NeonDot);
    of_bytes!(NeonWideDot);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::super::dots::native::Bf16Dot;
    use super::super::super::dots::x86::{Avx2Dot, Avx2WideDot, AvxVnniDot, VnniDot};
    use super::{ByteForm, FloatDot, HalfForm, ReducedSums, ReducedTile, Vector, WholeDot, bias};

    of_floats!(, Bf16Dot);
    of_bytes!(VnniDot);
    of_bytes!(AvxVnniDot);
    of_bytes!(Avx2Dot);
    of_bytes!(Avx2WideDot);
}
