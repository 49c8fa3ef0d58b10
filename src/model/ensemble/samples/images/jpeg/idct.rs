//! Converts the coefficients of a block to samples.
//!
//! The integer transform of Loeffler, Ligtenberg and Moschytz, rounded at the same places as
//! libjpeg's default, so that samples are identical to the bit. Eight columns are transformed
//! together, in 16-bit numbers if they fit, so that the compiler vectorises this.

use super::blocks::Block;
use super::tables::CoefficientSteps;

/// The number of samples of a side of a block.
pub(super) const SIDE: usize = 8;

/// The fractional bits of the factors.
const FACTOR_BITS: u32 = 13;

/// The fractional bits between both passes.
const BETWEEN_BITS: u32 = 2;

/// The last coefficient, in coding order, that lies in the first four rows and columns of a block.
const LAST_OF_CORNER: usize = 9;

/// Eight rows of eight columns.
type Square = [[i16; SIDE]; SIDE];

#[inline(always)]
fn product(value: i16, factor: i16) -> i32 {
    i32::from(value) * i32::from(factor)
}

/// Transforms eight columns in which only the first `N` rows have values, and drops the lowest
/// bits.
#[inline(always)]
fn pass<const N: usize>(v: &Square, bits: u32) -> Square {
    let mut to = [[0; SIDE]; SIDE];
    // Each step processes all columns, so that the compiler vectorises it.
    for i in 0..SIDE {
        let c = |row: usize| if row < N { v[row][i] } else { 0 };
        let even = even([c(0), c(2), c(4), c(6)]);
        let odd = odd([c(1), c(3), c(5), c(7)]);
        for row in 0..SIDE / 2 {
            to[row][i] = rounded(even[row].wrapping_add(odd[row]), bits);
            to[7 - row][i] = rounded(even[row].wrapping_sub(odd[row]), bits);
        }
    }
    to
}

/// Returns a value without its lowest bits, rounded.
#[inline(always)]
fn rounded(value: i32, bits: u32) -> i16 {
    let value = value.wrapping_add(1 << (bits - 1)) >> bits;
    value.clamp(-0x8000, 0x7fff) as i16
}

/// The part of the even coefficients. Sums of damaged files wrap.
#[inline(always)]
fn even([c0, c2, c4, c6]: [i16; 4]) -> [i32; 4] {
    let high = product(c2, 10_703).wrapping_add(product(c6, 4433));
    let low = product(c2, 4433).wrapping_add(product(c6, -10_704));
    let plus = i32::from(c0.wrapping_add(c4)) << FACTOR_BITS;
    let minus = i32::from(c0.wrapping_sub(c4)) << FACTOR_BITS;
    [
        plus.wrapping_add(high),
        minus.wrapping_add(low),
        minus.wrapping_sub(low),
        plus.wrapping_sub(high),
    ]
}

/// The part of the odd coefficients. Sums of damaged files wrap.
#[inline(always)]
fn odd([c1, c3, c5, c7]: [i16; 4]) -> [i32; 4] {
    let (a, b) = (c7.wrapping_add(c3), c5.wrapping_add(c1));
    let z3 = product(a, -6436).wrapping_add(product(b, 9633));
    let z4 = product(a, 9633).wrapping_add(product(b, 6437));
    let four = |x, y, z: i32| z.wrapping_add(x).wrapping_add(y);
    [
        four(product(c1, 4926), product(c7, -7373), z4),
        four(product(c3, 4177), product(c5, -20_995), z3),
        four(product(c5, -4176), product(c3, -20_995), z4),
        four(product(c7, -4927), product(c1, -7373), z3),
    ]
}

/// Transposes rows and columns.
#[inline(always)]
fn turned(v: &Square) -> Square {
    let mut to = [[0; SIDE]; SIDE];
    for row in 0..SIDE {
        for column in 0..SIDE {
            to[column][row] = v[row][column];
        }
    }
    to
}

/// Writes the samples of a block into an image of this width. The block's coefficients after `last`
/// are zeros.
#[inline]
pub(super) fn samples(
    block: &Block,
    last: usize,
    steps: &CoefficientSteps,
    to: &mut [u8],
    width: usize,
) {
    match last {
        0 => flat(block[0], steps[0], to, width),
        1..=LAST_OF_CORNER => transformed::<4>(block, steps, to, width),
        _ => transformed::<SIDE>(block, steps, to, width),
    }
}

/// Writes the samples of a block with coefficients only in the first `N` rows and columns.
#[inline(never)]
fn transformed<const N: usize>(
    block: &Block,
    steps: &CoefficientSteps,
    to: &mut [u8],
    width: usize,
) {
    let mut coefficients = [[0; SIDE]; SIDE];
    let rows = block.chunks_exact(SIDE).zip(steps.chunks_exact(SIDE));
    for (to, (block, steps)) in coefficients.iter_mut().zip(rows).take(N) {
        for (to, (value, step)) in to.iter_mut().zip(block.iter().zip(steps)) {
            *to = value.wrapping_mul(*step as i16);
        }
    }
    let columns = pass::<N>(&coefficients, FACTOR_BITS - BETWEEN_BITS);
    let rows = pass::<N>(&turned(&columns), FACTOR_BITS + BETWEEN_BITS + 3);
    for (values, to) in turned(&rows).iter().zip(to.chunks_mut(width)) {
        for (value, to) in values.iter().zip(&mut to[..SIDE]) {
            *to = sample(*value);
        }
    }
}

/// Writes the samples of a block of one colour.
#[inline]
fn flat(first: i16, step: u16, to: &mut [u8], width: usize) {
    let value = i32::from(first.wrapping_mul(step as i16));
    let value = sample(((value + 4) >> 3) as i16);
    for to in to.chunks_mut(width).take(SIDE) {
        to[..SIDE].fill(value);
    }
}

/// Returns the sample for a value around 0.
#[inline]
fn sample(value: i16) -> u8 {
    value.saturating_add(128).clamp(0, 255) as u8
}
