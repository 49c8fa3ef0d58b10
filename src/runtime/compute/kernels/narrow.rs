//! The inner loop of depthwise and narrow grouped convolutions. A vector of output channels reads
//! the same channels of its input, each lane those of its own group.

use super::activations::activated_shortly;
use super::reduced::{ByteForm, FloatForm, HalfForm, ReducedForm};
use super::tile::{Tile, finish, start};
use super::vector::{Plain, Vector};
use crate::compute::family::Family;
use crate::compute::reduced::ReducedNumbers;

/// The most rows of a tile.
pub(super) const NARROW_ROWS: usize = 8;

/// One tile whose vectors read the channels that they write.
#[derive(Clone, Copy)]
pub(super) struct NarrowTile {
    /// The address that offsets of rows count from, in numbers.
    pub values: *const u8,
    /// The form of these, if they are bytes.
    pub bytes: ByteForm,
    /// The destination of numbers in the function's form, or null if floats are written, and the
    /// numbers from one row to the next.
    pub out: *mut u8,
    pub out_stride: usize,
    /// The form of these, if they are bytes.
    pub written: ByteForm,
    /// All else; its base is not used.
    pub end: Tile,
}

/// A tile's function.
///
/// # Safety
/// As for [`TileFn`](super::tile::TileFn), of numbers of the function's form at `values`.
pub(super) type NarrowTileFn = unsafe fn(&NarrowTile);

/// Returns the function for `rows` (at most [`NARROW_ROWS`]) of groups of `width` channels: 1, or 4
/// or 8 if that is less than a vector. It reads reduced numbers, or floats.
///
/// Such a tile has any number of vectors, with panels one vector wide of `taps · width` lines after
/// each other; its depth is not read.
pub(super) fn narrow_fn(
    family: Family,
    numbers: Option<ReducedNumbers>,
    width: usize,
    rows: usize,
) -> NarrowTileFn {
    match numbers {
        None => of_form::<FloatForm>(family, width, rows),
        Some(ReducedNumbers::Bf16) => of_form::<HalfForm>(family, width, rows),
        Some(ReducedNumbers::Bytes(_)) => of_form::<ByteForm>(family, width, rows),
    }
}

fn of_form<F: ReducedForm>(family: Family, width: usize, rows: usize) -> NarrowTileFn {
    match family {
        #[cfg(target_arch = "x86_64")]
        Family::Avx512 => x86::avx512::<F>(width, rows),
        #[cfg(target_arch = "x86_64")]
        Family::Avx2Vnni | Family::Avx2 => x86::avx2::<F>(width, rows),
        #[cfg(target_arch = "aarch64")]
        Family::NeonDot | Family::Neon => arm::neon::<F>(width, rows),
        _ => plain::<F>(width, rows),
    }
}

impl NarrowTile {
    /// Advances to the next vector of channels, whose panel begins `panel` floats later.
    #[inline(always)]
    pub(super) fn advance<F: ReducedForm>(&mut self, lanes: usize, panel: usize) {
        self.values = self.values.wrapping_add(lanes * F::BYTES);
        if !self.out.is_null() {
            self.out = self.out.wrapping_add(lanes * F::BYTES);
        }
        self.end.advance(lanes, panel);
    }

    /// Returns the tile of the rows after the first `rows`.
    #[inline(always)]
    pub(super) fn skip_rows<F: ReducedForm>(mut self, rows: usize) -> Self {
        self.out = self.out.wrapping_add(rows * self.out_stride * F::BYTES);
        self.end.out = self.end.out.wrapping_add(rows * self.end.out_stride);
        let before = rows * self.end.residual_stride;
        self.end.residual = self.end.residual.wrapping_add(before);
        self
    }

    /// Writes a vector of sums of each row, with all that is added and applied.
    ///
    /// # Safety
    /// As for [`NarrowTileFn`].
    #[inline(always)]
    pub(super) unsafe fn finish<V: Vector, F: ReducedForm, const M: usize>(
        &self,
        sums: [[V; 1]; M],
    ) {
        let (end, form) = (&self.end, F::with(self.written));
        // SAFETY: guaranteed by the caller; no residual is added if numbers are written.
        unsafe {
            if self.out.is_null() {
                return finish::<V, M, 1>(end, sums);
            }
            for (m, [sum]) in sums.into_iter().enumerate() {
                let value = activated_shortly(sum, end.activation);
                let to = self.out.add(m * self.out_stride * F::BYTES);
                match end.last == V::LANES {
                    true => form.store(value, to),
                    false => form.store_part(value, to, end.last),
                }
            }
        }
    }

    /// Returns the numbers at an offset: a whole vector, or the number of written channels.
    ///
    /// # Safety
    /// As for [`NarrowTileFn`].
    #[inline(always)]
    pub(super) unsafe fn load<V: Vector, F: ReducedForm>(&self, form: F, offset: usize) -> V {
        // Offsets of zeros wrap around to before the base.
        let from = self.values.wrapping_add(offset.wrapping_mul(F::BYTES));
        // SAFETY: guaranteed by the caller.
        unsafe { self.load_at(form, from) }
    }

    /// Returns the numbers at an address: a whole vector, or the number of written channels.
    ///
    /// # Safety
    /// As for [`NarrowTileFn`].
    #[inline(always)]
    pub(super) unsafe fn load_at<V: Vector, F: ReducedForm>(&self, form: F, from: *const u8) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.end.last == V::LANES {
                true => form.load(from),
                false => form.load_part(from, self.end.last),
            }
        }
    }
}

/// Matches width and rows to instances of a function `f::<WIDTH, ROWS>`.
macro_rules! instances {
    ($f:ident, $at:expr; $($width:literal)+) => {
        match $at {
            $(
                ($width, 1) => $f::<F, $width, 1>,
                ($width, 2) => $f::<F, $width, 2>,
                ($width, 3) => $f::<F, $width, 3>,
                ($width, 4) => $f::<F, $width, 4>,
                ($width, 5) => $f::<F, $width, 5>,
                ($width, 6) => $f::<F, $width, 6>,
                ($width, 7) => $f::<F, $width, 7>,
                ($width, 8) => $f::<F, $width, 8>,
            )+
            (width, rows) => unreachable!("no tile of {rows} rows and groups of {width}"),
        }
    };
}

fn plain<F: ReducedForm>(width: usize, rows: usize) -> NarrowTileFn {
    unsafe fn of<F: ReducedForm, const W: usize, const M: usize>(tile: &NarrowTile) {
        // SAFETY: guaranteed by `NarrowTileFn`.
        unsafe { run::<Plain, F, W, M>(tile) }
    }
    instances!(of, (width, rows); 1)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::vector::{Avx2, Avx512};
    use super::{NarrowTile, NarrowTileFn, ReducedForm, run};

    pub(super) fn avx512<F: ReducedForm>(width: usize, rows: usize) -> NarrowTileFn {
        #[target_feature(enable = "avx512f")]
        unsafe fn of<F: ReducedForm, const W: usize, const M: usize>(tile: &NarrowTile) {
            // SAFETY: guaranteed by `NarrowTileFn`.
            unsafe { run::<Avx512, F, W, M>(tile) }
        }
        instances!(of, (width, rows); 1 4 8)
    }

    pub(super) fn avx2<F: ReducedForm>(width: usize, rows: usize) -> NarrowTileFn {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<F: ReducedForm, const W: usize, const M: usize>(tile: &NarrowTile) {
            // SAFETY: guaranteed by `NarrowTileFn`.
            unsafe { run::<Avx2, F, W, M>(tile) }
        }
        instances!(of, (width, rows); 1 4)
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::vector::Neon;
    use super::{NarrowTile, NarrowTileFn, ReducedForm, run};

    pub(super) fn neon<F: ReducedForm>(width: usize, rows: usize) -> NarrowTileFn {
        #[target_feature(enable = "neon")]
        unsafe fn of<F: ReducedForm, const W: usize, const M: usize>(tile: &NarrowTile) {
            // SAFETY: guaranteed by `NarrowTileFn`.
            unsafe { run::<Neon, F, W, M>(tile) }
        }
        instances!(of, (width, rows); 1)
    }
}

/// Runs all vectors of the rows, which lie side by side.
#[inline(always)]
unsafe fn run<V: Vector, F: ReducedForm, const W: usize, const M: usize>(tile: &NarrowTile) {
    let mut one = *tile;
    let lines = tile.end.taps * W * V::LANES;
    // SAFETY: guaranteed by `NarrowTileFn` for each vector.
    unsafe {
        for at in 1..=tile.end.vectors {
            one.end.last = tile.end.lanes_of(at, V::LANES);
            vector::<V, F, W, M>(&one);
            one.advance::<F>(V::LANES, lines);
        }
    }
}

#[inline(always)]
unsafe fn vector<V: Vector, F: ReducedForm, const W: usize, const M: usize>(tile: &NarrowTile) {
    let (end, form) = (&tile.end, F::with(tile.bytes));
    // SAFETY: guaranteed by `NarrowTileFn`; each row has a vector of channels, or `last` of them.
    unsafe {
        let mut sums = start::<V, M, 1>(end);
        let mut line = end.panel;
        for tap in 0..end.taps {
            let mut values = [V::splat(0.0); M];
            for (m, value) in values.iter_mut().enumerate() {
                *value = tile.load(form, *end.rows.add(tap * end.rows_stride + m));
            }
            for i in 0..W {
                let weights = V::load(line);
                line = line.add(V::LANES);
                for m in 0..M {
                    let value = if W == 1 {
                        values[m]
                    } else {
                        values[m].spread(W, i)
                    };
                    sums[m][0] = sums[m][0].mul_add(value, weights);
                }
            }
        }
        tile.finish::<V, F, M>(sums);
    }
}
