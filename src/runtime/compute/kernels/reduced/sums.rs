//! Sums of products of reduced numbers: their initial values, and the numbers they represent.

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

    /// The numbers that the sums of a vector of columns are multiplied by and added to.
    type Column: Copy;

    /// The sums before any product.
    unsafe fn begin(tile: &ReducedTile, column: usize) -> Self;
    /// Returns the numbers of the vector of columns from `column` on.
    unsafe fn column(tile: &ReducedTile, column: usize) -> Self::Column;
    /// The same for numbers that count steps; `steps` of them are 1.
    unsafe fn in_steps(column: Self::Column, steps: f32) -> Self::Column;
    /// Returns the numbers that the sums represent, with their bias.
    unsafe fn end(self, column: Self::Column) -> Self::Float;
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
    ($($generic:ident)?, $ty:ty, $form:ty) => {
        impl $(<$generic: Vector>)? ReducedSums for $ty {
            type Form = $form;
            type Column = ();

            #[inline(always)]
            unsafe fn begin(tile: &ReducedTile, column: usize) -> Self {
                // SAFETY: guaranteed by the caller.
                Self::from_floats(unsafe { bias(tile, column) })
            }
            #[inline(always)]
            unsafe fn column(_: &ReducedTile, _: usize) {}
            #[inline(always)]
            unsafe fn in_steps((): (), _: f32) {}
            #[inline(always)]
            unsafe fn end(self, (): ()) -> Self::Float {
                // SAFETY: guaranteed by the caller.
                unsafe { self.float() }
            }
        }
    };
}

/// Implements [`ReducedSums`] for whole sums, whose initial values compensate the zero point of
/// values.
macro_rules! of_bytes {
    ($ty:ty) => {
        impl ReducedSums for $ty {
            type Form = ByteForm;
            type Column = [Self::Float; 2];

            #[inline(always)]
            unsafe fn begin(tile: &ReducedTile, column: usize) -> Self {
                // SAFETY: guaranteed by the caller.
                unsafe { Self::load(tile.starts.add(column)) }
            }
            #[inline(always)]
            unsafe fn column(tile: &ReducedTile, column: usize) -> [Self::Float; 2] {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let scale = Self::Float::load(tile.scales.add(column));
                    [scale, bias::<Self::Float>(tile, column)]
                }
            }
            #[inline(always)]
            unsafe fn in_steps(column: [Self::Float; 2], steps: f32) -> [Self::Float; 2] {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let steps = Self::Float::splat(steps);
                    [column[0].mul(steps), column[1].mul(steps)]
                }
            }
            #[inline(always)]
            unsafe fn end(self, [scale, bias]: [Self::Float; 2]) -> Self::Float {
                // SAFETY: guaranteed by the caller.
                unsafe { bias.mul_add(self.float(), scale) }
            }
        }
    };
}

of_floats!(V, WidenedDot<V>, HalfForm);
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
    use super::super::native::NativeHalfForm;
    use super::{ByteForm, FloatDot, ReducedSums, ReducedTile, Vector, WholeDot, bias};

    of_floats!(, Bf16Dot, NativeHalfForm);
    of_bytes!(VnniDot);
    of_bytes!(AvxVnniDot);
    of_bytes!(Avx2Dot);
    of_bytes!(Avx2WideDot);
}
