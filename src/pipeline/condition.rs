//! Conditions: a comparison of a number made of a tensor, `max(probs) < 0.9`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A comparison on a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The tensor.
    pub tensor: String,
    /// The number that is made of it.
    pub reduction: Reduction,
    /// How the number is compared.
    pub comparison: Comparison,
    /// The number that it is compared with.
    pub bound: f32,
}

/// A number made of a tensor's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
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
pub enum Comparison {
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
    reductions = Reduction::names()
)]
pub struct ConditionError {
    /// The text.
    pub found: String,
}

const REDUCTIONS: [(&str, Reduction); 6] = [
    ("max", Reduction::Max),
    ("min", Reduction::Min),
    ("sum", Reduction::Sum),
    ("mean", Reduction::Mean),
    ("argmax", Reduction::ArgMax),
    ("margin", Reduction::Margin),
];

/// Longer signs before those that they begin with.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

impl Reduction {
    fn names() -> String {
        REDUCTIONS.map(|(name, _)| name).join(", ")
    }

    /// Computes the number of a tensor's values.
    pub fn of(self, values: &[f32]) -> f32 {
        let most = || values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum = || values.iter().sum::<f32>();
        match self {
            Reduction::Value => values.first().copied().unwrap_or(f32::NAN),
            Reduction::Max => most(),
            Reduction::Min => values.iter().copied().fold(f32::INFINITY, f32::min),
            Reduction::Sum => sum(),
            Reduction::Mean => sum() / values.len().max(1) as f32,
            Reduction::ArgMax => position_of_largest(values) as f32,
            Reduction::Margin => {
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

impl Condition {
    /// Whether it holds for a tensor's values.
    pub fn holds(&self, values: &[f32]) -> bool {
        let (number, bound) = (self.reduction.of(values), self.bound);
        match self.comparison {
            Comparison::Below => number < bound,
            Comparison::AtMost => number <= bound,
            Comparison::Above => number > bound,
            Comparison::AtLeast => number >= bound,
            Comparison::Equal => number == bound,
            Comparison::Unequal => number != bound,
        }
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        parsed(text).ok_or_else(|| ConditionError {
            found: text.chars().take(80).collect(),
        })
    }
}

fn parsed(text: &str) -> Option<Condition> {
    let signs = COMPARISONS.iter();
    let (sign, comparison) = *signs.filter(|(sign, _)| text.contains(sign)).next()?;
    let (left, right) = text.split_once(sign)?;
    let bound: f32 = right.trim().parse().ok().filter(|b: &f32| b.is_finite())?;
    let left = left.trim();
    let (reduction, tensor) = match left.split_once('(') {
        None => (Reduction::Value, left),
        Some((name, rest)) => {
            let known = REDUCTIONS.iter().find(|(known, _)| *known == name.trim());
            (known?.1, rest.strip_suffix(')')?.trim())
        }
    };
    let plain = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    (!tensor.is_empty() && tensor.chars().all(plain)).then(|| Condition {
        tensor: tensor.to_owned(),
        reduction,
        comparison,
        bound,
    })
}

impl fmt::Display for Condition {
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
