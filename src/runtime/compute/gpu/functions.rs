//! The functions that GPUs have kernels for, by the numbers that the kernels know them by
//! (`cuda/kernels/params.h`).

use crate::network::{Binary, Reduction, Unary};

/// The function that a pass over values computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MapFunction {
    /// One value everywhere.
    Fill(f32),
    /// The first operand.
    Copy,
    /// A function of one operand.
    One(Unary),
    /// A function of two operands.
    Two(Binary),
    /// The second operand if the first is not 0, else the third.
    Choice,
}

/// Functions of one value, in the order of their numbers.
const ONES: [Unary; 20] = [
    Unary::Abs,
    Unary::Neg,
    Unary::Sign,
    Unary::Sqrt,
    Unary::Reciprocal,
    Unary::Exp,
    Unary::Log,
    Unary::Erf,
    Unary::Sin,
    Unary::Cos,
    Unary::Floor,
    Unary::Ceil,
    Unary::Round,
    Unary::Truncate,
    Unary::Not,
    Unary::NotZero,
    Unary::IsNaN,
    Unary::NanToZero,
    Unary::ToF16,
    Unary::ToBf16,
];

const FIRST_OF_ONE: usize = 2;

/// Functions of two values, in the order of their numbers.
const TWOS: [Binary; 18] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::Div,
    Binary::IntegerDiv,
    Binary::Pow,
    Binary::Min,
    Binary::Max,
    Binary::Mod,
    Binary::Equal,
    Binary::Less,
    Binary::LessOrEqual,
    Binary::Greater,
    Binary::GreaterOrEqual,
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::Remainder,
];

const FIRST_OF_TWO: usize = 32;

/// Functions of many values, in the order of their numbers.
const REDUCTIONS: [Reduction; 10] = [
    Reduction::Sum,
    Reduction::Mean,
    Reduction::Max,
    Reduction::Min,
    Reduction::Product,
    Reduction::L1,
    Reduction::L2,
    Reduction::SumOfSquares,
    Reduction::ArgMax,
    Reduction::ArgMin,
];

impl MapFunction {
    /// Returns the function's number, or `None` if the kernels do not have it.
    pub(in crate::compute) fn code(self) -> Option<usize> {
        match self {
            MapFunction::Fill(_) => Some(0),
            MapFunction::Copy => Some(1),
            MapFunction::One(kind) => {
                let found = ONES.iter().position(|&known| known == kind);
                found.map(|at| FIRST_OF_ONE + at)
            }
            MapFunction::Two(kind) => {
                let found = TWOS.iter().position(|&known| known == kind);
                found.map(|at| FIRST_OF_TWO + at)
            }
            MapFunction::Choice => Some(64),
        }
    }
}

/// Returns the number of a reduction, or `None` if the kernels do not have it.
pub(in crate::compute) fn reduction_code(kind: Reduction) -> Option<usize> {
    REDUCTIONS.iter().position(|&known| known == kind)
}
