//! Functions of one number, of two and of many, and the values of borders.

use serde::{Deserialize, Serialize};

/// A function of two numbers. Comparisons and logic answer 1 or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    /// A quotient of integers, rounded towards zero.
    IntegerDiv,
    Pow,
    Min,
    Max,
    /// The remainder, with the sign of the divisor.
    Mod,
    /// The exact remainder of C's `fmod`, with the sign of the dividend.
    Remainder,
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    Xor,
    /// Bitwise on whole numbers, with negative numbers in two's complement.
    BitAnd,
    BitOr,
    BitXor,
}

impl Binary {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
            Binary::IntegerDiv => "integer-div",
            Binary::Pow => "pow",
            Binary::Min => "min",
            Binary::Max => "max",
            Binary::Mod => "mod",
            Binary::Remainder => "remainder",
            Binary::Equal => "equal",
            Binary::Less => "less",
            Binary::LessOrEqual => "less-or-equal",
            Binary::Greater => "greater",
            Binary::GreaterOrEqual => "greater-or-equal",
            Binary::And => "and",
            Binary::Or => "or",
            Binary::Xor => "xor",
            Binary::BitAnd => "bit-and",
            Binary::BitOr => "bit-or",
            Binary::BitXor => "bit-xor",
        }
    }
}

/// A function of one number that is not an [`Activation`](crate::network::Activation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Unary {
    Abs,
    Neg,
    Sign,
    Sqrt,
    Reciprocal,
    Exp,
    Log,
    Erf,
    Sin,
    Cos,
    Atan,
    Floor,
    Ceil,
    /// To the nearest integer, halves to the even one.
    Round,
    /// Towards zero, as a cast to integers does.
    Truncate,
    /// 1 for 0, else 0.
    Not,
    /// 1 unless it is 0, as a cast to booleans does.
    NotZero,
    IsNaN,
    /// 0 for NaN, others as they are.
    NanToZero,
    /// The nearest number of half precision, ties to even; infinite from 65 520 on.
    ToF16,
    /// The nearest brain float, ties to even.
    ToBf16,
}

impl Unary {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Unary::Abs => "abs",
            Unary::Neg => "neg",
            Unary::Sign => "sign",
            Unary::Sqrt => "sqrt",
            Unary::Reciprocal => "reciprocal",
            Unary::Exp => "exp",
            Unary::Log => "log",
            Unary::Erf => "erf",
            Unary::Sin => "sin",
            Unary::Cos => "cos",
            Unary::Atan => "atan",
            Unary::Floor => "floor",
            Unary::Ceil => "ceil",
            Unary::Round => "round",
            Unary::Truncate => "truncate",
            Unary::Not => "not",
            Unary::NotZero => "not-zero",
            Unary::IsNaN => "is-nan",
            Unary::NanToZero => "nan-to-zero",
            Unary::ToF16 => "to-f16",
            Unary::ToBf16 => "to-bf16",
        }
    }
}

/// One number for many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Reduction {
    Sum,
    Mean,
    Max,
    Min,
    Product,
    /// The sum of absolute values.
    L1,
    /// The square root of the sum of squares.
    L2,
    SumOfSquares,
    /// The first position of the largest value; of a single axis.
    ArgMax,
    /// The first position of the least value; of a single axis.
    ArgMin,
}

impl Reduction {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Mean => "mean",
            Reduction::Max => "max",
            Reduction::Min => "min",
            Reduction::Product => "product",
            Reduction::L1 => "l1",
            Reduction::L2 => "l2",
            Reduction::SumOfSquares => "sum-of-squares",
            Reduction::ArgMax => "arg-max",
            Reduction::ArgMin => "arg-min",
        }
    }
}

/// The values of a border.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Border {
    /// One value everywhere.
    Constant(f32),
    /// The nearest value of the tensor.
    Edge,
    /// The tensor mirrored at its last value, which is not repeated.
    Reflect,
}
