//! Functions of one value that are put together from simpler ones.

use super::elementwise::choice;
use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Activation as ActivationFunction, Binary, Op, Unary};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::floats::are_finite;
use crate::onnx::node::Node;
use crate::onnx::partial::PartialNetwork;

/// Adds functions of one value, named after one node.
struct Formula<'n, 'a> {
    network: &'n mut PartialNetwork<'a>,
    node: Node<'a>,
}

impl Formula<'_, '_> {
    fn unary(&mut self, kind: Unary, x: &Activation) -> Added {
        self.network.unary(self.node, kind, x)
    }

    /// Returns `x kind number`.
    fn with_number(&mut self, x: &Activation, kind: Binary, number: f32) -> Added {
        self.network.with_number(self.node, kind, x, number, false)
    }

    /// Returns `number kind x`.
    fn from(&mut self, number: f32, kind: Binary, x: &Activation) -> Added {
        self.network.with_number(self.node, kind, x, number, true)
    }

    fn pair(&mut self, a: &Activation, kind: Binary, b: &Activation) -> Added {
        self.network.pair(self.node, kind, a, b)
    }

    /// `scale · alpha · (exp(min(x, 0) / width) − 1)` below 0, `scale · x` above.
    fn elu(&mut self, x: &Activation, alpha: f32, width: f32, scale: f32) -> Added {
        let low = self.with_number(x, Binary::Min, 0.0)?;
        let low = self.with_number(&low, Binary::Div, width)?;
        let low = self.unary(Unary::Exp, &low)?;
        let low = self.with_number(&low, Binary::Sub, 1.0)?;
        let low = self.with_number(&low, Binary::Mul, alpha)?;
        let high = self.with_number(x, Binary::Max, 0.0)?;
        let all = self.pair(&high, Binary::Add, &low)?;
        self.with_number(&all, Binary::Mul, scale)
    }

    /// Values between −`bound` and `bound` are 0; others move towards 0 by `by`.
    fn shrunk(&mut self, x: &Activation, bound: f32, by: f32) -> Added {
        let high = self.with_number(x, Binary::Greater, bound)?;
        let low = self.with_number(x, Binary::Less, -bound)?;
        let less = self.with_number(x, Binary::Sub, by)?;
        let more = self.with_number(x, Binary::Add, by)?;
        let more = self.or_zero(&low, &more)?;
        choice(self.network, self.node, [&high, &less, &more])
    }

    /// Returns `x` where a condition is not 0, and 0 elsewhere.
    fn or_zero(&mut self, condition: &Activation, x: &Activation) -> Added {
        self.network.where_else(self.node, condition, x, 0.0)
    }
}

/// The functions that are known by the names of their operators.
pub(super) fn activation<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = &network.input(node, inputs, 0)?;
    let alpha = |default: f32| node.float("alpha").unwrap_or(default);
    let f = &mut Formula { network, node };
    match node.operator().unwrap_or_default() {
        "Celu" => f.elu(x, alpha(1.0), alpha(1.0), 1.0),
        "Selu" => {
            let scale = node.float("gamma").unwrap_or(1.050_701);
            f.elu(x, alpha(1.673_263_2), 1.0, scale)
        }
        "Softsign" => {
            let below = f.unary(Unary::Abs, x)?;
            let below = f.with_number(&below, Binary::Add, 1.0)?;
            f.pair(x, Binary::Div, &below)
        }
        "Swish" => {
            let gate = f.with_number(x, Binary::Mul, alpha(1.0))?;
            let sigmoid = Op::from(ActivationFunction::Sigmoid);
            let gate = f.network.each(node, sigmoid, &gate)?;
            f.pair(x, Binary::Mul, &gate)
        }
        "ThresholdedRelu" => {
            let high = f.with_number(x, Binary::Greater, alpha(1.0))?;
            f.or_zero(&high, x)
        }
        "Shrink" => {
            let bound = node.float("lambd").unwrap_or(0.5);
            f.shrunk(x, bound, node.float("bias").unwrap_or(0.0))
        }
        "Tan" => {
            let (sin, cos) = (f.unary(Unary::Sin, x)?, f.unary(Unary::Cos, x)?);
            f.pair(&sin, Binary::Div, &cos)
        }
        // Computed from half the angle, which stays exact near 1.
        "Asin" => {
            let square = f.pair(x, Binary::Mul, x)?;
            let side = f.from(1.0, Binary::Sub, &square)?;
            let side = f.unary(Unary::Sqrt, &side)?;
            let side = f.with_number(&side, Binary::Add, 1.0)?;
            let half = f.pair(x, Binary::Div, &side)?;
            let half = f.unary(Unary::Atan, &half)?;
            f.with_number(&half, Binary::Mul, 2.0)
        }
        "Acos" => {
            let (above, below) = (
                f.from(1.0, Binary::Sub, x)?,
                f.with_number(x, Binary::Add, 1.0)?,
            );
            let half = f.pair(&above, Binary::Div, &below)?;
            let half = f.unary(Unary::Sqrt, &half)?;
            let half = f.unary(Unary::Atan, &half)?;
            f.with_number(&half, Binary::Mul, 2.0)
        }
        "Asinh" => {
            let size = f.unary(Unary::Abs, x)?;
            let square = f.pair(x, Binary::Mul, x)?;
            let side = f.with_number(&square, Binary::Add, 1.0)?;
            let side = f.unary(Unary::Sqrt, &side)?;
            let all = f.pair(&size, Binary::Add, &side)?;
            let all = f.unary(Unary::Log, &all)?;
            let sign = f.unary(Unary::Sign, x)?;
            f.pair(&all, Binary::Mul, &sign)
        }
        "Acosh" => {
            let square = f.pair(x, Binary::Mul, x)?;
            let side = f.with_number(&square, Binary::Sub, 1.0)?;
            let side = f.unary(Unary::Sqrt, &side)?;
            let all = f.pair(x, Binary::Add, &side)?;
            f.unary(Unary::Log, &all)
        }
        "Sinh" | "Cosh" => {
            let up = f.unary(Unary::Exp, x)?;
            let down = f.unary(Unary::Reciprocal, &up)?;
            let kind = match node.operator() {
                Some("Sinh") => Binary::Sub,
                _ => Binary::Add,
            };
            let both = f.pair(&up, kind, &down)?;
            f.with_number(&both, Binary::Mul, 0.5)
        }
        "Atanh" => {
            let (above, below) = (
                f.with_number(x, Binary::Add, 1.0)?,
                f.from(1.0, Binary::Sub, x)?,
            );
            let both = f.pair(&above, Binary::Div, &below)?;
            let both = f.unary(Unary::Log, &both)?;
            f.with_number(&both, Binary::Mul, 0.5)
        }
        _ => unsupported("unknown operator"),
    }
}

/// Returns whether slopes are known and finite, so that they keep a 0.
fn has_finite_slopes(slopes: &Value) -> bool {
    match slopes {
        Value::Constant(slopes) => slopes.as_floats().is_none_or(are_finite),
        _ => false,
    }
}

/// A slope for each value, repeated as in NumPy.
pub(super) fn parametric_relu<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    if !has_finite_slopes(inputs.value(1)?) {
        let is_low = network.with_number(node, Binary::Less, &x, 0.0, false)?;
        let low = network.binary(node, Binary::Mul, &x.clone().into(), inputs.value(1)?)?;
        return choice(network, node, [&is_low, &low, &x]);
    }
    let low = network.with_number(node, Binary::Min, &x, 0.0, false)?;
    let low = network.binary(node, Binary::Mul, &low.into(), inputs.value(1)?)?;
    let high = network.with_number(node, Binary::Max, &x, 0.0, false)?;
    network.pair(node, Binary::Add, &high, &low)
}
