//! Operations on each value separately.

use super::activations;
use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Binary, TensorOp, Unary};
use crate::onnx::activation::{Activation, NumberType, Value};
use crate::onnx::kinds;
use crate::onnx::layout::{Layout, common};
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::shapes::broadcast_dims;
use crate::onnx::tensor::Constant;

/// Bounds are attributes before opset 11 and inputs after.
pub(super) fn clip<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let constant = |n| !matches!(inputs.0.get(n), Some(Some(Value::Activation(_))));
    if constant(1) && constant(2) {
        return activations::clip(network, node, inputs);
    }
    clip_by_values(network, node, inputs)
}

fn clip_by_values<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let mut x = inputs.value(0)?.clone();
    for (n, kind) in [(1, Binary::Max), (2, Binary::Min)] {
        if inputs.has(n) {
            x = network.binary(node, kind, &x, inputs.value(n)?)?.into();
        }
    }
    network.operand(node, &x)
}

pub(super) fn unary<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let Some(kind) = kinds::unary(node.operator().unwrap_or_default()) else {
        return unsupported("unknown operator");
    };
    let x = network.input(node, inputs, 0)?;
    let made = network.unary(node, kind, &x)?;
    Ok(match kind {
        Unary::Not | Unary::IsNaN => made.typed(NumberType::Booleans),
        _ => made,
    })
}

impl<'a> PartialNetwork<'a> {
    /// Adds integers in the bits of a narrow type, the upper ones left out as ONNX Runtime does.
    pub(super) fn wrapped(
        &mut self,
        node: Node<'a>,
        x: &Activation,
        bits: Option<(f32, f32)>,
    ) -> Added {
        let Some((least, count)) = bits else {
            return Ok(x.clone());
        };
        let x = self.with_number(node, Binary::Sub, x, least, false)?;
        let x = self.with_number(node, Binary::Mod, &x, count, false)?;
        self.with_number(node, Binary::Add, &x, least, false)
    }
}

pub(super) fn is_infinite<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let detects = |name| node.integer(name).unwrap_or(1) != 0;
    let x = network.input(node, inputs, 0)?;
    let (x, limit) = match (detects("detect_negative"), detects("detect_positive")) {
        (true, true) => (network.unary(node, Unary::Abs, &x)?, f32::INFINITY),
        (false, true) => (x, f32::INFINITY),
        (true, false) => (x, f32::NEG_INFINITY),
        (false, false) => (
            network.with_number(node, Binary::Mul, &x, 0.0, false)?,
            f32::INFINITY,
        ),
    };
    network.with_number(node, Binary::Equal, &x, limit, false)
}

/// Returns its input, and that all of it is kept; a dropout while training is refused.
pub(super) fn dropout<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let trains = match inputs.has(2) {
        true => inputs.number(2)? != Some(0.0),
        false => false,
    };
    let x = match trains {
        true => return unsupported("dropout in training mode"),
        false => network.input(node, inputs, 0)?,
    };
    if !node
        .outputs()
        .get(1)
        .is_some_and(|name| network.is_read(name))
    {
        return Ok(vec![x]);
    }
    let kept = network.operand(node, &Constant::boolean(true).into())?;
    let kept = network.expand(node, &kept, x.dims())?;
    Ok(vec![x, kept])
}

pub(super) fn choose<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let condition = network.input(node, inputs, 0)?;
    let a = network.input(node, inputs, 1)?;
    let b = network.input(node, inputs, 2)?;
    choice(network, node, [&condition, &a, &b])
}

impl<'a> PartialNetwork<'a> {
    /// Adds the choice of `a` where a condition is not 0, and of one number elsewhere. Unlike a
    /// product with the condition, an infinity or NaN that is not chosen leaves no trace.
    pub(super) fn where_else(
        &mut self,
        node: Node<'a>,
        condition: &Activation,
        a: &Activation,
        other: f32,
    ) -> Added {
        let other = self.operand(node, &Constant::float(other).into())?;
        choice(self, node, [condition, a, &other])
    }
}

/// Adds the choice of the second value where the first is not 0, else of the third.
pub(super) fn choice<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    values: [&Activation; 3],
) -> Added {
    let [condition, a, b] = values;
    let dims = broadcast_dims(&broadcast_dims(condition.dims(), a.dims())?, b.dims())?;
    let raised = [condition, a, b].map(|x| x.with_layout(x.layout.with_rank(dims.len())));
    let layouts: Vec<&Layout> = raised.iter().map(|x| &x.layout).collect();
    let axes = common(&layouts);
    let ids = raised.iter().map(|x| network.stored(node, x, &axes));
    let ids = ids.collect::<Result<Vec<_>, Refusal>>()?;
    let id = network.tensor(node, TensorOp::Where, &ids)?;
    Ok(Activation {
        id,
        layout: Layout::new(dims, &axes),
        numbers: a.numbers,
    })
}
