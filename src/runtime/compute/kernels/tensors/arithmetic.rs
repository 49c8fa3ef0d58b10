//! The functions themselves, on runs of values. `steps` is the number of floats from one operand to
//! the next, 0 if one value is used for all.
//!
//! Minimum and maximum keep NaN, as in ONNX Runtime.

use super::super::elementwise::Lanes;
use super::super::functions::erf;
use super::super::norms::exponentials;
use super::super::vector::Vector;
use super::rounding::{to_bf16, to_f16};
use crate::network::{Binary, Unary};

/// Writes `f` of each pair. Runs and single values get loops of their own, which the compiler
/// makes vectors of.
#[inline(always)]
fn pairs([a, b]: [&[f32]; 2], steps: [usize; 2], out: &mut [f32], f: impl Fn(f32, f32) -> f32) {
    match steps {
        [1, 1] => {
            for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
                *o = f(a, b);
            }
        }
        [1, 0] => {
            let b = b[0];
            for (o, &a) in out.iter_mut().zip(a) {
                *o = f(a, b);
            }
        }
        [0, 1] => {
            let a = a[0];
            for (o, &b) in out.iter_mut().zip(b) {
                *o = f(a, b);
            }
        }
        _ => {
            for (i, o) in out.iter_mut().enumerate() {
                *o = f(a[i * steps[0]], b[i * steps[1]]);
            }
        }
    }
}

/// Returns 1 for `true` and 0 for `false`.
#[inline(always)]
fn bit(truth: bool) -> f32 {
    if truth { 1.0 } else { 0.0 }
}

/// A NaN stays one.
#[inline(always)]
fn sign(a: f32) -> f32 {
    let sign = bit(a > 0.0) - bit(a < 0.0);
    if a.is_nan() { a } else { sign }
}

#[inline(always)]
pub(super) fn least(a: f32, b: f32) -> f32 {
    if b < a || b.is_nan() { b } else { a }
}

#[inline(always)]
pub(super) fn most(a: f32, b: f32) -> f32 {
    if b > a || b.is_nan() { b } else { a }
}

#[inline(always)]
pub(super) fn binary(kind: Binary, from: [&[f32]; 2], steps: [usize; 2], out: &mut [f32]) {
    match kind {
        Binary::Add => pairs(from, steps, out, |a, b| a + b),
        Binary::Sub => pairs(from, steps, out, |a, b| a - b),
        Binary::Mul => pairs(from, steps, out, |a, b| a * b),
        Binary::Div => pairs(from, steps, out, |a, b| a / b),
        Binary::IntegerDiv => pairs(from, steps, out, |a, b| (a / b).trunc()),
        Binary::Pow => pairs(from, steps, out, power),
        Binary::Min => pairs(from, steps, out, least),
        Binary::Max => pairs(from, steps, out, most),
        Binary::Mod => pairs(from, steps, out, |a, b| a - b * (a / b).floor()),
        Binary::Remainder => pairs(from, steps, out, |a, b| a % b),
        Binary::Equal => pairs(from, steps, out, |a, b| bit(a == b)),
        Binary::Less => pairs(from, steps, out, |a, b| bit(a < b)),
        Binary::LessOrEqual => pairs(from, steps, out, |a, b| bit(a <= b)),
        Binary::Greater => pairs(from, steps, out, |a, b| bit(a > b)),
        Binary::GreaterOrEqual => pairs(from, steps, out, |a, b| bit(a >= b)),
        Binary::And => pairs(from, steps, out, |a, b| bit((a != 0.0) & (b != 0.0))),
        Binary::Or => pairs(from, steps, out, |a, b| bit((a != 0.0) | (b != 0.0))),
        Binary::Xor => pairs(from, steps, out, |a, b| bit((a != 0.0) ^ (b != 0.0))),
        Binary::BitAnd => pairs(from, steps, out, bits(|a, b| a & b)),
        Binary::BitOr => pairs(from, steps, out, bits(|a, b| a | b)),
        Binary::BitXor => pairs(from, steps, out, bits(|a, b| a ^ b)),
    }
}

/// Returns a function of the bits of two whole numbers that is NaN if one of them is NaN.
#[inline(always)]
fn bits(f: impl Fn(i64, i64) -> i64) -> impl Fn(f32, f32) -> f32 {
    move |a, b| match a.is_nan() || b.is_nan() {
        true => f32::NAN,
        false => f(a as i64, b as i64) as f32,
    }
}

/// Squares and roots are most of the powers in networks, and cheap.
#[inline(always)]
fn power(a: f32, b: f32) -> f32 {
    if b == 2.0 { a * a } else { a.powf(b) }
}

/// Writes `f` of each value.
#[inline(always)]
fn each(a: &[f32], step: usize, out: &mut [f32], f: impl Fn(f32) -> f32) {
    if step == 1 {
        for (o, &a) in out.iter_mut().zip(a) {
            *o = f(a);
        }
    } else {
        for (i, o) in out.iter_mut().enumerate() {
            *o = f(a[i * step]);
        }
    }
}

/// Writes the error function of each value in its place.
///
/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
unsafe fn errors<V: Vector>(values: &mut [f32]) {
    for lanes in Lanes::by_vector::<V>(values.len()) {
        // SAFETY: guaranteed by the caller; the row has these lanes.
        unsafe { lanes.store(erf(lanes.load::<V>(values)), values) };
    }
}

/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
pub(super) unsafe fn unary<V: Vector>(kind: Unary, a: &[f32], step: usize, out: &mut [f32]) {
    match kind {
        Unary::Abs => each(a, step, out, f32::abs),
        Unary::Neg => each(a, step, out, |a| -a),
        Unary::Sign => each(a, step, out, sign),
        Unary::Sqrt => each(a, step, out, f32::sqrt),
        Unary::Reciprocal => each(a, step, out, |a| 1.0 / a),
        Unary::Exp => {
            each(a, step, out, |a| a);
            // SAFETY: guaranteed by the caller.
            unsafe { exponentials::<V>(out, 0.0) };
        }
        Unary::Log => each(a, step, out, f32::ln),
        Unary::Erf => {
            each(a, step, out, |a| a);
            // SAFETY: guaranteed by the caller.
            unsafe { errors::<V>(out) };
        }
        Unary::Sin => each(a, step, out, f32::sin),
        Unary::Cos => each(a, step, out, f32::cos),
        Unary::Atan => each(a, step, out, f32::atan),
        Unary::Floor => each(a, step, out, f32::floor),
        Unary::Ceil => each(a, step, out, f32::ceil),
        Unary::Round => each(a, step, out, f32::round_ties_even),
        Unary::Truncate => each(a, step, out, f32::trunc),
        Unary::Not => each(a, step, out, |a| bit(a == 0.0)),
        Unary::NotZero => each(a, step, out, |a| bit(a != 0.0)),
        Unary::IsNaN => each(a, step, out, |a| bit(a.is_nan())),
        Unary::NanToZero => each(a, step, out, |a| if a.is_nan() { 0.0 } else { a }),
        Unary::ToF16 => each(a, step, out, to_f16),
        Unary::ToBf16 => each(a, step, out, to_bf16),
    }
}

/// Writes the second value if the first is not 0, else the third.
#[inline(always)]
pub(super) fn choose([which, a, b]: [&[f32]; 3], steps: [usize; 3], out: &mut [f32]) {
    if steps == [1; 3] {
        for (((o, &which), &a), &b) in out.iter_mut().zip(which).zip(a).zip(b) {
            *o = if which == 0.0 { b } else { a };
        }
        return;
    }
    for (i, o) in out.iter_mut().enumerate() {
        let other = [a[i * steps[1]], b[i * steps[2]]];
        *o = if which[i * steps[0]] == 0.0 {
            other[1]
        } else {
            other[0]
        };
    }
}
