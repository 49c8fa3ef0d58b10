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
    fn of(&mut self, kind: Unary, x: &Activation) -> Added {
        self.network.unary(self.node, kind, x)
    }

    /// Returns `x kind number`.
    fn by(&mut self, x: &Activation, kind: Binary, number: f32) -> Added {
        self.network.by(self.node, kind, x, number, false)
    }

    /// Returns `number kind x`.
    fn from(&mut self, number: f32, kind: Binary, x: &Activation) -> Added {
        self.network.by(self.node, kind, x, number, true)
    }

    fn pair(&mut self, a: &Activation, kind: Binary, b: &Activation) -> Added {
        self.network.pair(self.node, kind, a, b)
    }

    /// `scale · alpha · (exp(min(x, 0) / width) − 1)` below 0, `scale · x` above.
    fn elu(&mut self, x: &Activation, alpha: f32, width: f32, scale: f32) -> Added {
        let low = self.by(x, Binary::Min, 0.0)?;
        let low = self.by(&low, Binary::Div, width)?;
        let low = self.of(Unary::Exp, &low)?;
        let low = self.by(&low, Binary::Sub, 1.0)?;
        let low = self.by(&low, Binary::Mul, alpha)?;
        let high = self.by(x, Binary::Max, 0.0)?;
        let all = self.pair(&high, Binary::Add, &low)?;
        self.by(&all, Binary::Mul, scale)
    }

    /// Values between −`bound` and `bound` are 0; others move towards 0 by `by`.
    fn shrunk(&mut self, x: &Activation, bound: f32, by: f32) -> Added {
        let high = self.by(x, Binary::Greater, bound)?;
        let low = self.by(x, Binary::Less, -bound)?;
        let less = self.by(x, Binary::Sub, by)?;
        let more = self.by(x, Binary::Add, by)?;
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
            let below = f.of(Unary::Abs, x)?;
            let below = f.by(&below, Binary::Add, 1.0)?;
            f.pair(x, Binary::Div, &below)
        }
        "Swish" => {
            let gate = f.by(x, Binary::Mul, alpha(1.0))?;
            let sigmoid = Op::from(ActivationFunction::Sigmoid);
            let gate = f.network.each(node, sigmoid, &gate)?;
            f.pair(x, Binary::Mul, &gate)
        }
        "ThresholdedRelu" => {
            let high = f.by(x, Binary::Greater, alpha(1.0))?;
            f.or_zero(&high, x)
        }
        "Shrink" => {
            let bound = node.float("lambd").unwrap_or(0.5);
            f.shrunk(x, bound, node.float("bias").unwrap_or(0.0))
        }
        "Tan" => {
            let (sin, cos) = (f.of(Unary::Sin, x)?, f.of(Unary::Cos, x)?);
            f.pair(&sin, Binary::Div, &cos)
        }
        // Computed from half the angle, which stays exact near 1.
        "Asin" => {
            let square = f.pair(x, Binary::Mul, x)?;
            let side = f.from(1.0, Binary::Sub, &square)?;
            let side = f.of(Unary::Sqrt, &side)?;
            let side = f.by(&side, Binary::Add, 1.0)?;
            let half = f.pair(x, Binary::Div, &side)?;
            let half = f.of(Unary::Atan, &half)?;
            f.by(&half, Binary::Mul, 2.0)
        }
        "Acos" => {
            let (above, below) = (f.from(1.0, Binary::Sub, x)?, f.by(x, Binary::Add, 1.0)?);
            let half = f.pair(&above, Binary::Div, &below)?;
            let half = f.of(Unary::Sqrt, &half)?;
            let half = f.of(Unary::Atan, &half)?;
            f.by(&half, Binary::Mul, 2.0)
        }
        "Asinh" => {
            let size = f.of(Unary::Abs, x)?;
            let square = f.pair(x, Binary::Mul, x)?;
            let side = f.by(&square, Binary::Add, 1.0)?;
            let side = f.of(Unary::Sqrt, &side)?;
            let all = f.pair(&size, Binary::Add, &side)?;
            let all = f.of(Unary::Log, &all)?;
            let sign = f.of(Unary::Sign, x)?;
            f.pair(&all, Binary::Mul, &sign)
        }
        "Acosh" => {
            let square = f.pair(x, Binary::Mul, x)?;
            let side = f.by(&square, Binary::Sub, 1.0)?;
            let side = f.of(Unary::Sqrt, &side)?;
            let all = f.pair(x, Binary::Add, &side)?;
            f.of(Unary::Log, &all)
        }
        "Sinh" | "Cosh" => {
            let up = f.of(Unary::Exp, x)?;
            let down = f.of(Unary::Reciprocal, &up)?;
            let kind = match node.operator() {
                Some("Sinh") => Binary::Sub,
                _ => Binary::Add,
            };
            let both = f.pair(&up, kind, &down)?;
            f.by(&both, Binary::Mul, 0.5)
        }
        "Atanh" => {
            let (above, below) = (f.by(x, Binary::Add, 1.0)?, f.from(1.0, Binary::Sub, x)?);
            let both = f.pair(&above, Binary::Div, &below)?;
            let both = f.of(Unary::Log, &both)?;
            f.by(&both, Binary::Mul, 0.5)
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
        let is_low = network.by(node, Binary::Less, &x, 0.0, false)?;
        let low = network.binary(node, Binary::Mul, &x.clone().into(), inputs.value(1)?)?;
        return choice(network, node, [&is_low, &low, &x]);
    }
    let low = network.by(node, Binary::Min, &x, 0.0, false)?;
    let low = network.binary(node, Binary::Mul, &low.into(), inputs.value(1)?)?;
    let high = network.by(node, Binary::Max, &x, 0.0, false)?;
    network.pair(node, Binary::Add, &high, &low)
}
