//! Functions of one number, of two and of many, and the values of borders.

use serde::{Deserialize, Serialize};

use crate::named::named;

named! {
    /// A function of two numbers. Comparisons and logic answer 1 or 0.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[expect(missing_docs, reason = "the names say it")]
    pub enum Binary {
        Add = "add",
        Sub = "sub",
        Mul = "mul",
        Div = "div",
        /// A quotient of integers, rounded towards zero.
        IntegerDiv = "integer-div",
        Pow = "pow",
        Min = "min",
        Max = "max",
        /// The remainder, with the sign of the divisor.
        Mod = "mod",
        /// The exact remainder of C's `fmod`, with the sign of the dividend.
        Remainder = "remainder",
        Equal = "equal",
        Less = "less",
        LessOrEqual = "less-or-equal",
        Greater = "greater",
        GreaterOrEqual = "greater-or-equal",
        And = "and",
        Or = "or",
        Xor = "xor",
        /// Bitwise on whole numbers, with negative numbers in two's complement.
        BitAnd = "bit-and",
        BitOr = "bit-or",
        BitXor = "bit-xor",
    }
}

named! {
    /// A function of one number that is not an [`Activation`](crate::network::Activation).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[expect(missing_docs, reason = "the names say it")]
    pub enum Unary {
        Abs = "abs",
        Neg = "neg",
        Sign = "sign",
        Sqrt = "sqrt",
        Reciprocal = "reciprocal",
        Exp = "exp",
        Log = "log",
        Erf = "erf",
        Sin = "sin",
        Cos = "cos",
        Atan = "atan",
        Floor = "floor",
        Ceil = "ceil",
        /// To the nearest integer, halves to the even one.
        Round = "round",
        /// Towards zero, as a cast to integers does.
        Truncate = "truncate",
        /// 1 for 0, else 0.
        Not = "not",
        /// 1 unless it is 0, as a cast to booleans does.
        NotZero = "not-zero",
        IsNaN = "is-nan",
        /// 0 for NaN, others as they are.
        NanToZero = "nan-to-zero",
        /// The nearest number of half precision, ties to even; infinite from 65 520 on.
        ToF16 = "to-f16",
        /// The nearest brain float, ties to even.
        ToBf16 = "to-bf16",
    }
}

named! {
    /// One number for many.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[expect(missing_docs, reason = "the names say it")]
    pub enum Reduction {
        Sum = "sum",
        Mean = "mean",
        Max = "max",
        Min = "min",
        Product = "product",
        /// The sum of absolute values.
        L1 = "l1",
        /// The square root of the sum of squares.
        L2 = "l2",
        SumOfSquares = "sum-of-squares",
        /// The first position of the largest value; of a single axis.
        ArgMax = "arg-max",
        /// The first position of the least value; of a single axis.
        ArgMin = "arg-min",
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
