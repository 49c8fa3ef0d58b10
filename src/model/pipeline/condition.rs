//! Conditions: comparisons of a tensor's value, such as `max(probs) < 0.9`.

use std::fmt;
use std::str::FromStr;

use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::MOST_EXACT;

/// A comparison on a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct StepCondition {
    /// The tensor.
    pub tensor: String,
    /// The reduction of the tensor to a number.
    pub reduction: TensorReduction,
    /// The comparison.
    pub comparison: Relation,
    /// The number to compare with.
    pub bound: f32,
}

/// A reduction of a tensor's values to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorReduction {
    /// The value of a tensor with a single value.
    Value,
    /// The largest value.
    Max,
    /// The smallest value.
    Min,
    /// The sum of all values.
    Sum,
    /// The mean of all values.
    Mean,
    /// The position of the largest value, the first of equal values.
    ArgMax,
    /// The difference between the largest and the second largest value.
    Margin,
}

/// A comparison of two numbers. All comparisons with NaN are false, except `!=`.
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

const REDUCTIONS: [(&str, TensorReduction); 6] = [
    ("max", TensorReduction::Max),
    ("min", TensorReduction::Min),
    ("sum", TensorReduction::Sum),
    ("mean", TensorReduction::Mean),
    ("argmax", TensorReduction::ArgMax),
    ("margin", TensorReduction::Margin),
];

/// Longer signs come before their prefixes.
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

    /// Reduces a tensor's values in float64, so that sums of integers stay exact.
    pub fn compute(self, values: &[f32]) -> f64 {
        let wide = || values.iter().copied().map(f64::from);
        let most = || wide().fold(f64::NEG_INFINITY, f64::max);
        match self {
            TensorReduction::Value => wide().next().unwrap_or(f64::NAN),
            TensorReduction::Max => most(),
            TensorReduction::Min => wide().fold(f64::INFINITY, f64::min),
            TensorReduction::Sum => wide().sum(),
            TensorReduction::Mean => wide().sum::<f64>() / values.len().max(1) as f64,
            TensorReduction::ArgMax => position_of_largest(values) as f64,
            TensorReduction::Margin => {
                let at = position_of_largest(values);
                let others = wide().enumerate().filter(|(i, _)| *i != at);
                let second = others.map(|(_, v)| v).fold(f64::NEG_INFINITY, f64::max);
                most() - second
            }
        }
    }
}

/// Returns the position of the largest value, the first of equal values.
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
    /// Returns whether it holds for a tensor's values.
    pub fn holds(&self, values: &[f32]) -> bool {
        let (number, bound) = (self.reduction.compute(values), f64::from(self.bound));
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
    type Err = ReadError;

    fn from_str(text: &str) -> Result<Self, ReadError> {
        let short = |text: &str| text.chars().take(80).collect::<String>();
        let (condition, bound) = parsed(text).ok_or_else(|| {
            let known = TensorReduction::names();
            ReadError::expected(
                format_args!("a comparison such as `max(probs) < 0.9`, with one of {known}"),
                format_args!("`{}`", short(text)),
            )
        })?;
        match is_exact(bound, condition.bound) {
            true => Ok(condition),
            false => Err(ReadError::new(format_args!(
                "`{}` cannot be compared exactly: expected a whole number from -{MOST_EXACT} to \
                 {MOST_EXACT}",
                short(bound)
            ))),
        }
    }
}

/// Returns whether a written number was read exactly, or is a fraction, which is rounded.
fn is_exact(written: &str, read: f32) -> bool {
    match (written.parse::<i128>(), written.parse::<f64>()) {
        (Ok(whole), _) => read as i128 == whole,
        (Err(_), Ok(number)) => number.fract() != 0.0 || f64::from(read) == number,
        (Err(_), Err(_)) => false,
    }
}

/// Returns a condition, and its bound as written.
fn parsed(text: &str) -> Option<(StepCondition, &str)> {
    let mut signs = COMPARISONS.iter();
    let (sign, comparison) = *signs.find(|(sign, _)| text.contains(sign))?;
    let (left, right) = text.split_once(sign)?;
    let right = right.trim();
    let bound: f32 = right.parse().ok().filter(|b: &f32| b.is_finite())?;
    let left = left.trim();
    let (reduction, tensor) = match left.split_once('(') {
        None => (TensorReduction::Value, left),
        Some((name, rest)) => {
            let known = REDUCTIONS.iter().find(|(known, _)| *known == name.trim());
            (known?.1, rest.strip_suffix(')')?.trim())
        }
    };
    let plain = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    let condition = StepCondition {
        tensor: tensor.to_owned(),
        reduction,
        comparison,
        bound,
    };
    (!tensor.is_empty() && tensor.chars().all(plain)).then_some((condition, right))
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
