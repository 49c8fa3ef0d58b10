//! Conditions: a comparison of a number made of a tensor, `max(probs) < 0.9`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A comparison on a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct StepCondition {
    /// The tensor.
    pub tensor: String,
    /// The number that is made of it.
    pub reduction: TensorReduction,
    /// How the number is compared.
    pub comparison: Relation,
    /// The number that it is compared with.
    pub bound: f32,
}

/// A number made of a tensor's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorReduction {
    /// The value itself, of a tensor of one.
    Value,
    /// The largest value.
    Max,
    /// The smallest value.
    Min,
    /// The sum of all values.
    Sum,
    /// The mean of all values.
    Mean,
    /// The position of the largest value, the first of equals.
    ArgMax,
    /// How far the largest value is above the second largest.
    Margin,
}

/// A comparison of two numbers. NaN compares as false, but with `!=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
}

/// A text is no condition.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected a comparison as `max(probs) < 0.9`, with one of {reductions}, found `{found}`",
    reductions = TensorReduction::names()
)]
pub struct ConditionError {
    /// The text.
    pub found: String,
}

const REDUCTIONS: [(&str, TensorReduction); 6] = [
    ("max", TensorReduction::Max),
    ("min", TensorReduction::Min),
    ("sum", TensorReduction::Sum),
    ("mean", TensorReduction::Mean),
    ("argmax", TensorReduction::ArgMax),
    ("margin", TensorReduction::Margin),
];

/// Longer signs before those that they begin with.
const COMPARISONS: [(&str, Relation); 6] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("==", Relation::Equal),
    ("!=", Relation::Unequal),
    ("<", Relation::Below),
    (">", Relation::Above),
];

impl TensorReduction {
    fn names() -> String {
        REDUCTIONS.map(|(name, _)| name).join(", ")
    }

    /// Computes the number of a tensor's values.
    pub fn of(self, values: &[f32]) -> f32 {
        let most = || values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum = || values.iter().sum::<f32>();
        match self {
            TensorReduction::Value => values.first().copied().unwrap_or(f32::NAN),
            TensorReduction::Max => most(),
            TensorReduction::Min => values.iter().copied().fold(f32::INFINITY, f32::min),
            TensorReduction::Sum => sum(),
            TensorReduction::Mean => sum() / values.len().max(1) as f32,
            TensorReduction::ArgMax => position_of_largest(values) as f32,
            TensorReduction::Margin => {
                let at = position_of_largest(values);
                let others = values.iter().enumerate().filter(|(i, _)| *i != at);
                let second = others.map(|(_, v)| *v).fold(f32::NEG_INFINITY, f32::max);
                most() - second
            }
        }
    }
}

/// Returns the position of the largest value, the first of equals.
pub(super) fn position_of_largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (at, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = at;
        }
    }
    best
}

impl StepCondition {
    /// Whether it holds for a tensor's values.
    pub fn holds(&self, values: &[f32]) -> bool {
        let (number, bound) = (self.reduction.of(values), self.bound);
        match self.comparison {
            Relation::Below => number < bound,
            Relation::AtMost => number <= bound,
            Relation::Above => number > bound,
            Relation::AtLeast => number >= bound,
            Relation::Equal => number == bound,
            Relation::Unequal => number != bound,
        }
    }
}

impl FromStr for StepCondition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        parsed(text).ok_or_else(|| ConditionError {
            found: text.chars().take(80).collect(),
        })
    }
}

fn parsed(text: &str) -> Option<StepCondition> {
    let mut signs = COMPARISONS.iter();
    let (sign, comparison) = *signs.find(|(sign, _)| text.contains(sign))?;
    let (left, right) = text.split_once(sign)?;
    let bound: f32 = right.trim().parse().ok().filter(|b: &f32| b.is_finite())?;
    let left = left.trim();
    let (reduction, tensor) = match left.split_once('(') {
        None => (TensorReduction::Value, left),
        Some((name, rest)) => {
            let known = REDUCTIONS.iter().find(|(known, _)| *known == name.trim());
            (known?.1, rest.strip_suffix(')')?.trim())
        }
    };
    let plain = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    (!tensor.is_empty() && tensor.chars().all(plain)).then(|| StepCondition {
        tensor: tensor.to_owned(),
        reduction,
        comparison,
        bound,
    })
}

impl fmt::Display for StepCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = COMPARISONS.iter().find(|(_, c)| *c == self.comparison);
        let sign = sign.map_or("", |(sign, _)| sign);
        let name = REDUCTIONS.iter().find(|(_, r)| *r == self.reduction);
        match name {
            None => write!(f, "{} {sign} {}", self.tensor, self.bound),
            Some((name, _)) => write!(f, "{name}({}) {sign} {}", self.tensor, self.bound),
        }
    }
}
