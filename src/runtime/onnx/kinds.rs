//! Functions of numbers by the names of the operators that compute them.

use super::proto::TensorProto;
use crate::network::{Binary, Reduction, Unary};
use crate::reading::ReadError;

/// Returns an operator's function of two numbers, or `None` if it has no such function.
pub(super) fn binary(operator: &str) -> Option<Binary> {
    Some(match operator {
        "Add" | "Sum" | "Mean" => Binary::Add,
        "Sub" => Binary::Sub,
        "Mul" => Binary::Mul,
        "Div" => Binary::Div,
        "Pow" => Binary::Pow,
        "Min" => Binary::Min,
        "Max" => Binary::Max,
        "Mod" => Binary::Mod,
        "Equal" => Binary::Equal,
        "Less" => Binary::Less,
        "LessOrEqual" => Binary::LessOrEqual,
        "Greater" => Binary::Greater,
        "GreaterOrEqual" => Binary::GreaterOrEqual,
        "And" => Binary::And,
        "Or" => Binary::Or,
        "Xor" => Binary::Xor,
        "BitwiseAnd" => Binary::BitAnd,
        "BitwiseOr" => Binary::BitOr,
        "BitwiseXor" => Binary::BitXor,
        _ => return None,
    })
}

/// Returns whether a function answers booleans.
pub(super) const fn answers_booleans(kind: Binary) -> bool {
    matches!(
        kind,
        Binary::Equal
            | Binary::Less
            | Binary::LessOrEqual
            | Binary::Greater
            | Binary::GreaterOrEqual
            | Binary::And
            | Binary::Or
            | Binary::Xor
    )
}

/// Returns an operator's function of one number, or `None` if it has no such function.
pub(super) fn unary(operator: &str) -> Option<Unary> {
    Some(match operator {
        "Abs" => Unary::Abs,
        "Neg" => Unary::Neg,
        "Sign" => Unary::Sign,
        "Sqrt" => Unary::Sqrt,
        "Reciprocal" => Unary::Reciprocal,
        "Exp" => Unary::Exp,
        "Log" => Unary::Log,
        "Erf" => Unary::Erf,
        "Sin" => Unary::Sin,
        "Cos" => Unary::Cos,
        "Atan" => Unary::Atan,
        "Floor" => Unary::Floor,
        "Ceil" => Unary::Ceil,
        "Round" => Unary::Round,
        "Not" => Unary::Not,
        "IsNaN" => Unary::IsNaN,
        _ => return None,
    })
}

/// Returns the function that rounds to an element type of floats in 16 bits, by its number in
/// `TensorProto.DataType`; `None` for other types.
pub(super) const fn rounding(element_type: i32) -> Option<Unary> {
    match element_type {
        10 => Some(Unary::ToF16),
        16 => Some(Unary::ToBf16),
        _ => None,
    }
}

/// The least and the number of the integers of a type of at most 16 bits, by its number in
/// `TensorProto.DataType`.
pub(super) const fn narrow(element_type: i32) -> Option<(f32, f32)> {
    Some(match element_type {
        2 => (0.0, 256.0),
        3 => (-128.0, 256.0),
        4 => (0.0, 65_536.0),
        5 => (-32_768.0, 65_536.0),
        _ => return None,
    })
}

/// Checks that whole numbers of at most 16 bits, which lie in a field of larger ones, are of their type.
pub(super) fn check_narrow(tensor: &TensorProto) -> Result<(), ReadError> {
    let Some((least, count)) = narrow(tensor.data_type.unwrap_or_default()) else {
        return Ok(());
    };
    let (least, most) = (least as i64, (least + count) as i64 - 1);
    let mut values = tensor.int32_data.iter().map(|v| i64::from(*v)).enumerate();
    match values.find(|(_, value)| !(least..=most).contains(value)) {
        Some((at, found)) => {
            let wrong = ReadError::expected(format_args!("{least} to {most}"), found);
            Err(wrong.at(format_args!("value {at}")))
        }
        None => Ok(()),
    }
}

/// Returns the reduction of an operator, or `None` if it is not a single reduction.
pub(super) fn reduction(operator: &str) -> Option<Reduction> {
    Some(match operator {
        "ReduceSum" => Reduction::Sum,
        "ReduceMean" => Reduction::Mean,
        "ReduceMax" => Reduction::Max,
        "ReduceMin" => Reduction::Min,
        "ReduceProd" => Reduction::Product,
        "ReduceL1" => Reduction::L1,
        "ReduceL2" => Reduction::L2,
        "ReduceSumSquare" => Reduction::SumOfSquares,
        "ArgMax" => Reduction::ArgMax,
        "ArgMin" => Reduction::ArgMin,
        _ => return None,
    })
}
