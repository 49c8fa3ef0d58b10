//! Folded functions of numbers.

use half::{bf16, f16};

use super::inputs::{FoldedConstant, input};
use super::select::expanded;
use crate::network::{Binary, Unary};
use crate::onnx::error::NodeFault;
use crate::onnx::integers::Integers;
use crate::onnx::kinds::answers_booleans;
use crate::onnx::node::Node;
use crate::onnx::shapes::{bounded, broadcast_dims};
use crate::onnx::tensor::{Constant, Values};

/// Folds a function of two numbers over all inputs, one after the other.
pub(super) fn many(kind: Binary, node: Node<'_>, inputs: &[Option<&Constant>]) -> FoldedConstant {
    let first = input(inputs, 0)?.clone();
    let kind = match kind {
        Binary::Mod if node.integer("fmod") == Some(1) => return remainder(inputs),
        kind => kind,
    };
    let rest = (1..inputs.len()).map(|n| input(inputs, n));
    let all = rest
        .into_iter()
        .try_fold(first, |all, next| binary(kind, &all, next?))?;
    match (node.operator(), all.values) {
        (Some("Mean"), Values::Floats(v)) => {
            let count = inputs.len() as f32;
            Ok(Constant {
                dims: all.dims,
                values: Values::Floats(v.into_iter().map(|v| v / count).collect()),
            })
        }
        (_, values) => Ok(Constant {
            dims: all.dims,
            values,
        }),
    }
}

/// Returns both constants repeated to one shape.
fn aligned(a: &Constant, b: &Constant) -> Result<(Constant, Constant), NodeFault> {
    let dims = broadcast_dims(&a.dims, &b.dims)?;
    bounded(dims.iter().fold(1, |all, d| all.saturating_mul(*d)), 1)?;
    Ok((expanded(a, &dims), expanded(b, &dims)))
}

fn different() -> NodeFault {
    NodeFault::Shapes("its inputs have different types".into())
}

fn binary(kind: Binary, a: &Constant, b: &Constant) -> FoldedConstant {
    let (a, b) = aligned(a, b)?;
    let values = match (&a.values, &b.values) {
        (Values::Floats(a), Values::Floats(b)) => floats(kind, a, b),
        (Values::Integers(a), Values::Integers(b)) => integers(kind, a, b)?,
        (Values::Booleans(a), Values::Booleans(b)) => booleans(kind, a, b)?,
        (Values::Floats(x), Values::Integers(_)) if kind == Binary::Pow => {
            floats(kind, x, &b.to_floats())
        }
        (Values::Integers(_), Values::Floats(y)) if kind == Binary::Pow => {
            let Values::Floats(v) = floats(kind, &a.to_floats(), y) else {
                return Err(different());
            };
            Values::Integers(v.iter().map(|v| *v as i64).collect())
        }
        _ => return Err(different()),
    };
    Ok(Constant {
        dims: a.dims,
        values,
    })
}

/// Returns the lesser of two numbers, or NaN if one is.
pub(super) fn lesser(a: f32, b: f32) -> f32 {
    if b < a || b.is_nan() { b } else { a }
}

/// Returns the greater of two numbers, or NaN if one is.
pub(super) fn greater(a: f32, b: f32) -> f32 {
    if b > a || b.is_nan() { b } else { a }
}

fn floats(kind: Binary, a: &[f32], b: &[f32]) -> Values {
    let pairs = a.iter().copied().zip(b.iter().copied());
    if answers_booleans(kind) {
        return Values::Booleans(pairs.map(|(a, b)| compared(kind, &a, &b)).collect());
    }
    let each = pairs.map(|(a, b)| match kind {
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Pow => a.powf(b),
        Binary::Min => lesser(a, b),
        Binary::Max => greater(a, b),
        Binary::Mod => a - b * (a / b).floor(),
        _ => a + b,
    });
    Values::Floats(each.collect())
}

fn integers(kind: Binary, a: &[i64], b: &[i64]) -> Result<Values, NodeFault> {
    let pairs = a.iter().copied().zip(b.iter().copied());
    if answers_booleans(kind) {
        return Ok(Values::Booleans(
            pairs.map(|(a, b)| compared(kind, &a, &b)).collect(),
        ));
    }
    let each = pairs.map(|(a, b)| match kind {
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div => a.checked_div(b),
        Binary::Pow => a.checked_pow(u32::try_from(b).ok()?),
        Binary::Min => Some(a.min(b)),
        Binary::Max => Some(a.max(b)),
        Binary::BitAnd => Some(a & b),
        Binary::BitOr => Some(a | b),
        Binary::BitXor => Some(a ^ b),
        Binary::Mod => a
            .checked_rem(b)
            .map(|r| match r != 0 && (r < 0) != (b < 0) {
                true => r + b,
                false => r,
            }),
        _ => a.checked_add(b),
    });
    if matches!(kind, Binary::Div | Binary::Mod) && b.contains(&0) {
        return Err(by_zero());
    }
    let values: Option<Integers> = each.collect();
    let overflow = || NodeFault::Shapes("an integer overflows".into());
    Ok(Values::Integers(values.ok_or_else(overflow)?))
}

/// The fault of integers that are divided by 0.
pub(in crate::onnx) fn by_zero() -> NodeFault {
    NodeFault::Shapes("an integer is divided by 0".into())
}

fn booleans(kind: Binary, a: &[bool], b: &[bool]) -> Result<Values, NodeFault> {
    let pairs = a.iter().zip(b);
    let each = pairs.map(|(a, b)| match kind {
        Binary::And => Some(a & b),
        Binary::Or => Some(a | b),
        Binary::Xor => Some(a ^ b),
        Binary::Equal => Some(a == b),
        _ => None,
    });
    let values: Option<Vec<bool>> = each.collect();
    values.map(Values::Booleans).ok_or_else(different)
}

fn compared<T: PartialOrd>(kind: Binary, a: &T, b: &T) -> bool {
    match kind {
        Binary::Less => a < b,
        Binary::LessOrEqual => a <= b,
        Binary::Greater => a > b,
        Binary::GreaterOrEqual => a >= b,
        _ => a == b,
    }
}

/// The remainder of C, with the sign of the dividend.
fn remainder(inputs: &[Option<&Constant>]) -> FoldedConstant {
    let (a, b) = aligned(input(inputs, 0)?, input(inputs, 1)?)?;
    let values = match (&a.values, &b.values) {
        (Values::Floats(a), Values::Floats(b)) => {
            Values::Floats(a.iter().zip(b).map(|(a, b)| a % b).collect())
        }
        (Values::Integers(a), Values::Integers(b)) => {
            let each = a.iter().zip(b).map(|(a, b)| a.checked_rem(*b));
            Values::Integers(each.collect::<Option<_>>().ok_or_else(by_zero)?)
        }
        _ => return Err(different()),
    };
    Ok(Constant {
        dims: a.dims,
        values,
    })
}

/// Folds a function of one number, or returns `None` if the network computes it.
pub(super) fn unary(kind: Unary, x: &Constant) -> Option<Constant> {
    let values = match (&x.values, kind) {
        (Values::Booleans(v), Unary::Not) => Values::Booleans(v.iter().map(|v| !v).collect()),
        (Values::Integers(v), Unary::Abs) => {
            Values::Integers(v.iter().map(|v| v.saturating_abs()).collect())
        }
        (Values::Integers(v), Unary::Neg) => {
            Values::Integers(v.iter().map(|v| v.saturating_neg()).collect())
        }
        (Values::Integers(v), Unary::Sign) => {
            Values::Integers(v.iter().map(|v| v.signum()).collect())
        }
        (Values::Floats(v), Unary::IsNaN) => {
            Values::Booleans(v.iter().map(|v| v.is_nan()).collect())
        }
        (Values::Floats(v), kind) => {
            let f = function(kind)?;
            Values::Floats(v.iter().map(|v| f(*v)).collect())
        }
        _ => return None,
    };
    let dims = x.dims.clone();
    Some(Constant { dims, values })
}

fn function(kind: Unary) -> Option<fn(f32) -> f32> {
    Some(match kind {
        Unary::Abs => f32::abs,
        Unary::Neg => |v| -v,
        Unary::Sign => |v| if v == 0.0 { 0.0 } else { v.signum() },
        Unary::Sqrt => f32::sqrt,
        Unary::Reciprocal => f32::recip,
        Unary::Exp => f32::exp,
        Unary::Log => f32::ln,
        Unary::Sin => f32::sin,
        Unary::Cos => f32::cos,
        Unary::Floor => f32::floor,
        Unary::Ceil => f32::ceil,
        Unary::Round => f32::round_ties_even,
        _ => return None,
    })
}

/// Returns numbers converted and rounded to an element type, given by its number in
/// `TensorProto.DataType`.
pub(in crate::onnx) fn cast(constant: &Constant, to: i64) -> FoldedConstant {
    let values = match (to, &constant.values) {
        (1 | 11, _) => Values::Floats(constant.to_floats().into()),
        (10, _) => rounded(constant, |v| f16::from_f32(v).to_f32()),
        (16, _) => rounded(constant, |v| bf16::from_f32(v).to_f32()),
        (9, Values::Floats(v)) => Values::Booleans(v.iter().map(|v| *v != 0.0).collect()),
        (9, Values::Integers(v)) => Values::Booleans(v.iter().map(|v| *v != 0).collect()),
        (9, values @ Values::Booleans(_)) => values.clone(),
        (2..=7 | 12 | 13, Values::Floats(v)) => {
            Values::Integers(v.iter().map(|v| narrowed(*v as i64, to)).collect())
        }
        (2..=7 | 12 | 13, Values::Integers(v)) => {
            Values::Integers(v.iter().map(|v| narrowed(*v, to)).collect())
        }
        (2..=7 | 12 | 13, Values::Booleans(v)) => {
            Values::Integers(v.iter().copied().map(i64::from).collect())
        }
        (to, _) => {
            return Err(NodeFault::Attribute {
                name: "to",
                expected: format!("a numeric type, found {to}"),
            });
        }
    };
    let dims = constant.dims.clone();
    Ok(Constant { dims, values })
}

fn rounded(constant: &Constant, round: fn(f32) -> f32) -> Values {
    Values::Floats(constant.to_floats().into_iter().map(round).collect())
}

/// Returns an integer in the bits of an element type, the upper ones left out as ONNX Runtime does.
fn narrowed(value: i64, to: i64) -> i64 {
    match to {
        2 => i64::from(value as u8),
        3 => i64::from(value as i8),
        4 => i64::from(value as u16),
        5 => i64::from(value as i16),
        6 => i64::from(value as i32),
        12 => i64::from(value as u32),
        _ => value,
    }
}

pub(super) fn cast_like(constant: &Constant, like: &Constant) -> FoldedConstant {
    let to = match like.values {
        Values::Floats(_) => 1,
        Values::Integers(_) => 7,
        Values::Booleans(_) => 9,
    };
    cast(constant, to)
}

/// Folds `Where`.
pub(super) fn chosen(inputs: &[Option<&Constant>]) -> FoldedConstant {
    let (a, b) = aligned(input(inputs, 1)?, input(inputs, 2)?)?;
    let (condition, a) = aligned(input(inputs, 0)?, &a)?;
    let b = expanded(&b, &condition.dims);
    let Values::Booleans(which) = &condition.values else {
        return Err(NodeFault::Shapes("its condition is not boolean".into()));
    };
    macro_rules! choose {
        ($a:expr, $b:expr) => {{
            let each = which.iter().zip($a.iter().zip($b));
            each.map(|(c, (a, b))| if *c { *a } else { *b }).collect()
        }};
    }
    let values = match (&a.values, &b.values) {
        (Values::Floats(a), Values::Floats(b)) => Values::Floats(choose!(a, b)),
        (Values::Integers(a), Values::Integers(b)) => Values::Integers(choose!(a, b)),
        (Values::Booleans(a), Values::Booleans(b)) => Values::Booleans(choose!(a, b)),
        _ => return Err(different()),
    };
    let dims = condition.dims;
    Ok(Constant { dims, values })
}

/// Folds `Clip`: bounds are attributes before opset 11 and inputs after.
pub(super) fn clipped(
    x: &Constant,
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> FoldedConstant {
    let bound = |n: usize, name: &str| {
        let given = inputs.get(n).copied().flatten().cloned();
        let written = node.float(name).map(|v| Constant {
            dims: Vec::new(),
            values: Values::Floats(vec![v].into()),
        });
        given.or(written)
    };
    let low = bound(1, "min").map_or(Ok(x.clone()), |least| binary(Binary::Max, x, &least))?;
    bound(2, "max").map_or(Ok(low.clone()), |most| binary(Binary::Min, &low, &most))
}
