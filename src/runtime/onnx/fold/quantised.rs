//! Folds conversions between numbers and the integers that represent them.

use std::ops::RangeInclusive;

use super::inputs::{FoldedConstant, input};
use crate::network::EncodedValues;
use crate::onnx::error::NodeFault;
use crate::onnx::floats::Floats;
use crate::onnx::node::{Node, axis};
use crate::onnx::tensor::{Constant, Values};

/// Which scale and which zero each value of a tensor has.
enum Spread {
    /// There is one of them.
    Single,
    /// One for each position of an axis, whose positions are `inner` values apart.
    Along { count: usize, inner: usize },
    /// One for each block of an axis and each position of the others.
    Blocks {
        count: usize,
        inner: usize,
        size: usize,
    },
}

impl Spread {
    fn for_scales(node: Node<'_>, dims: &[usize], scales: &Constant) -> Result<Self, NodeFault> {
        if scales.values.len() == 1 {
            return Ok(Spread::Single);
        }
        let along = axis(node.integer("axis").unwrap_or(1), dims.len())?;
        let (count, inner) = (dims[along], dims[along + 1..].iter().product());
        if scales.dims == [count] {
            return Ok(Spread::Along { count, inner });
        }
        let size = node.integer("block_size").unwrap_or(0).max(0) as usize;
        let wrong = || {
            let found = &scales.dims;
            let blocks = match size {
                0 => String::new(),
                _ => format!(", or one for each {size} of these positions"),
            };
            NodeFault::Shapes(format!(
                "scales of {found:?} for values of {dims:?}: expected one, or one for each of the \
                 {count} positions of axis {along}{blocks}"
            ))
        };
        let mut blocks = dims.to_vec();
        blocks[along] = count.checked_div(size).ok_or_else(wrong)?;
        match blocks[along] * size == count && blocks == scales.dims {
            true => Ok(Spread::Blocks { count, inner, size }),
            false => Err(wrong()),
        }
    }

    /// Returns the scale of value `n`, by its position.
    fn at(&self, n: usize) -> usize {
        match *self {
            Spread::Single => 0,
            Spread::Along { count, inner } => n / inner % count,
            Spread::Blocks { count, inner, size } => {
                let (outer, block) = (n / (count * inner), n / inner % count / size);
                (outer * (count / size) + block) * inner + n % inner
            }
        }
    }
}

/// Checks scales in input `input`, which divide or multiply numbers.
pub(in crate::onnx) fn check_scales(
    input: usize,
    scales: &[f32],
    are_divisors: bool,
) -> Result<(), NodeFault> {
    let is_one = |scale: f32| scale.is_finite() && !(are_divisors && scale == 0.0);
    match scales.iter().position(|&scale| !is_one(scale)) {
        None => Ok(()),
        Some(at) => {
            let (other, found) = (if are_divisors { " other than 0" } else { "" }, scales[at]);
            Err(NodeFault::Shapes(format!(
                "scale {at} in input {input}: expected a finite number{other}, found {found}"
            )))
        }
    }
}

/// The scales of a node and its zero points, which default to 0.
struct Steps {
    spread: Spread,
    scales: Vec<f32>,
    zeros: Vec<f32>,
}

impl Steps {
    fn read(
        node: Node<'_>,
        inputs: &[Option<&Constant>],
        are_divisors: bool,
    ) -> Result<Self, NodeFault> {
        let (x, scales) = (input(inputs, 0)?, input(inputs, 1)?);
        let spread = Spread::for_scales(node, &x.dims, scales)?;
        let zeros = match inputs.get(2).copied().flatten() {
            None => vec![0.0; scales.values.len()],
            Some(zeros) if zeros.values.len() == scales.values.len() => zeros.to_floats(),
            Some(zeros) => {
                let (found, dims) = (&zeros.dims, &scales.dims);
                let why = format!(
                    "zero points of {found:?} for scales of {dims:?}: expected one for each scale"
                );
                return Err(NodeFault::Shapes(why));
            }
        };
        let scales = scales.to_floats();
        check_scales(1, &scales, are_divisors)?;
        Ok(Steps {
            spread,
            scales,
            zeros,
        })
    }

    /// Returns the scale and the zero of value `n`.
    fn at(&self, n: usize) -> (f32, f32) {
        let at = self.spread.at(n);
        (self.scales[at], self.zeros[at])
    }

    /// Returns the numbers that integers of one byte represent, without decoding them, or `None`
    /// for other values.
    fn numbers(&self, x: &Constant) -> Option<EncodedValues> {
        let Values::Integers(integers) = &x.values else {
            return None;
        };
        let inner = match self.spread {
            Spread::Single => integers.len(),
            Spread::Along { inner, .. } => inner,
            Spread::Blocks { .. } => return None,
        };
        integers.numbers(inner, &self.scales, &self.zeros)
    }

    fn each(&self, x: &Constant, of: impl Fn(f32, (f32, f32)) -> f32) -> Vec<f32> {
        let values = x.to_floats().into_iter().enumerate();
        values.map(|(n, value)| of(value, self.at(n))).collect()
    }
}

/// Returns `(integer − zero) · scale`.
pub(in crate::onnx) fn dequantised(node: Node<'_>, inputs: &[Option<&Constant>]) -> FoldedConstant {
    let (x, steps) = (input(inputs, 0)?, Steps::read(node, inputs, false)?);
    let made = || steps.each(x, |value, (scale, zero)| (value - zero) * scale);
    let values = steps
        .numbers(x)
        .map_or_else(|| made().into(), Floats::InFile);
    Ok(Constant {
        dims: x.dims.clone(),
        values: Values::Floats(values),
    })
}

/// Returns the integers within bounds that represent numbers: `round(x / scale) + zero`.
pub(in crate::onnx) fn quantised(
    node: Node<'_>,
    inputs: &[Option<&Constant>],
    bounds: &RangeInclusive<f32>,
) -> FoldedConstant {
    let (x, steps) = (input(inputs, 0)?, Steps::read(node, inputs, true)?);
    let values = steps.each(x, |value, (scale, zero)| {
        ((value / scale).round_ties_even() + zero).clamp(*bounds.start(), *bounds.end())
    });
    Ok(Constant {
        dims: x.dims.clone(),
        values: Values::Integers(values.into_iter().map(|v| v as i64).collect()),
    })
}
