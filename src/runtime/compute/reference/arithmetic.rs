//! Functions of one and of two numbers by plain Candle operations, on tensors of one shape.

use candle_core::{DType, Device, Result, Tensor};
use half::{bf16, f16};

use crate::network::{Binary, Unary};

/// Returns the byte 1 where a value is not 0, else 0.
pub(super) fn is_not_zero(x: &Tensor) -> Result<Tensor> {
    x.ne(&x.zeros_like()?)
}

/// Returns bytes as float32.
fn numbers(x: &Tensor) -> Result<Tensor> {
    x.to_dtype(DType::F32)
}

/// Returns a function of each number, or `None` if Candle fails.
pub fn of_one(kind: Unary, x: &[f32]) -> Option<Vec<f32>> {
    unary(kind, &vector(x)?).and_then(|y| y.to_vec1()).ok()
}

/// Returns a function of each two numbers, or `None` if Candle fails.
pub fn of_two(kind: Binary, a: &[f32], b: &[f32]) -> Option<Vec<f32>> {
    let answers = binary(kind, &vector(a)?, &vector(b)?);
    answers.and_then(|y| y.to_vec1()).ok()
}

fn vector(values: &[f32]) -> Option<Tensor> {
    Tensor::new(values, &Device::Cpu).ok()
}

pub(super) fn binary(kind: Binary, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let logic = |f: fn(&Tensor, &Tensor) -> Result<Tensor>| {
        numbers(&f(
            &numbers(&is_not_zero(a)?)?,
            &numbers(&is_not_zero(b)?)?,
        )?)
    };
    match kind {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::IntegerDiv => each(&(a / b)?, f32::trunc),
        Binary::Pow => each_pair(a, b, f32::powf),
        Binary::Min => a.minimum(b),
        Binary::Max => a.maximum(b),
        Binary::Mod => a - (b * (a / b)?.floor()?)?,
        Binary::Remainder => each_pair(a, b, |a, b| a % b),
        Binary::Equal => numbers(&a.eq(b)?),
        Binary::Less => numbers(&a.lt(b)?),
        Binary::LessOrEqual => numbers(&a.le(b)?),
        Binary::Greater => numbers(&a.gt(b)?),
        Binary::GreaterOrEqual => numbers(&a.ge(b)?),
        Binary::And => logic(|a, b| a * b),
        Binary::Or => logic(|a, b| a.maximum(b)),
        Binary::Xor => logic(|a, b| a.ne(b)),
        Binary::BitAnd => of_bits(a, b, |a, b| a & b),
        Binary::BitOr => of_bits(a, b, |a, b| a | b),
        Binary::BitXor => of_bits(a, b, |a, b| a ^ b),
    }
}

/// Candle computes powers by logarithms, which do not exist for negative bases, and has no bitwise
/// functions.
fn each_pair(a: &Tensor, b: &Tensor, f: impl Fn(f32, f32) -> f32) -> Result<Tensor> {
    let (first, second): (Vec<f32>, Vec<f32>) =
        (a.flatten_all()?.to_vec1()?, b.flatten_all()?.to_vec1()?);
    let values = first.into_iter().zip(second).map(|(a, b)| f(a, b));
    Tensor::from_iter(values, a.device())?.reshape(a.shape())
}

fn of_bits(a: &Tensor, b: &Tensor, f: fn(i64, i64) -> i64) -> Result<Tensor> {
    each_pair(a, b, |a, b| match a.is_nan() || b.is_nan() {
        true => f32::NAN,
        false => f(a as i64, b as i64) as f32,
    })
}

pub(super) fn unary(kind: Unary, x: &Tensor) -> Result<Tensor> {
    match kind {
        Unary::Abs => x.abs(),
        Unary::Neg => x.neg(),
        Unary::Sign => each(x, sign),
        Unary::Sqrt => x.sqrt(),
        Unary::Reciprocal => x.recip(),
        Unary::Exp => x.exp(),
        Unary::Log => x.log(),
        Unary::Erf => x.erf(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Atan => each(x, f32::atan),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => each(x, f32::round_ties_even),
        Unary::Truncate => each(x, f32::trunc),
        Unary::Not => numbers(&x.eq(&x.zeros_like()?)?),
        Unary::NotZero => numbers(&is_not_zero(x)?),
        Unary::IsNaN => numbers(&x.ne(x)?),
        Unary::NanToZero => each(x, |v| if v.is_nan() { 0.0 } else { v }),
        Unary::ToF16 => each(x, |v| f16::from_f32(v).to_f32()),
        Unary::ToBf16 => each(x, |v| bf16::from_f32(v).to_f32()),
    }
}

fn sign(v: f32) -> f32 {
    match v {
        v if v > 0.0 => 1.0,
        v if v < 0.0 => -1.0,
        // 0, and NaN, which Candle makes 0.
        v => v.abs(),
    }
}

fn each(x: &Tensor, f: fn(f32) -> f32) -> Result<Tensor> {
    let values: Vec<f32> = x.flatten_all()?.to_vec1()?;
    Tensor::from_iter(values.into_iter().map(f), x.device())?.reshape(x.shape())
}
