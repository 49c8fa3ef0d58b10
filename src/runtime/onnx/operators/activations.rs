//! Activations: a function of each value.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Activation as ActivationFunction, Op, Unary};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};

/// Returns the function that an operator applies to each value, with the node's attributes, or
/// `None` if it is another operator.
fn function(node: Node<'_>) -> Option<ActivationFunction> {
    let float = |name: &str, default: f32| node.float(name).unwrap_or(default);
    Some(match node.operator()? {
        "Relu" => ActivationFunction::Relu,
        "LeakyRelu" => ActivationFunction::LeakyRelu {
            slope: float("alpha", 0.01),
        },
        "Elu" => ActivationFunction::Elu {
            alpha: float("alpha", 1.0),
        },
        "Sigmoid" => ActivationFunction::Sigmoid,
        "HardSigmoid" => ActivationFunction::HardSigmoid {
            slope: float("alpha", 0.2),
            shift: float("beta", 0.5),
        },
        "HardSwish" => ActivationFunction::HardSwish,
        "Swish" if float("alpha", 1.0) == 1.0 => ActivationFunction::Silu,
        "Tanh" => ActivationFunction::Tanh,
        "Softplus" => ActivationFunction::Softplus,
        "Mish" => ActivationFunction::Mish,
        "Gelu" => match node.text("approximate").unwrap_or(b"none") {
            b"none" => ActivationFunction::Gelu,
            b"tanh" => ActivationFunction::GeluTanh,
            _ => return None,
        },
        _ => return None,
    })
}

pub(super) fn activation<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    match function(node) {
        Some(function) => network.each(node, Op::from(function), &x),
        None => unsupported("unknown attribute value"),
    }
}

/// Bounds are attributes before opset 11 and inputs after.
pub(super) fn clip<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let least = node.float("min").or(inputs.number(1)?);
    let most = node.float("max").or(inputs.number(2)?);
    let least = least.unwrap_or(f32::NEG_INFINITY);
    let most = most.unwrap_or(f32::INFINITY);
    let function = match (least, most) {
        (0.0, 6.0) => ActivationFunction::Relu6,
        (0.0, most) if most >= f32::MAX => ActivationFunction::Relu,
        // If the lower bound exceeds the upper one, ONNX uses the upper one.
        (least, most) => ActivationFunction::Clip {
            least: least.min(most),
            most,
        },
    };
    let x = network.input(node, inputs, 0)?;
    network.each(node, Op::from(function), &x)
}

/// Adds a function of `value` that is not an activation, instead of the nodes of its pattern.
pub(in crate::onnx) fn add_unary<'a>(
    network: &mut PartialNetwork<'a>,
    end: Node<'a>,
    kind: Unary,
    value: &Value,
) -> Result<Vec<Activation>, Refusal> {
    let x = network.operand(end, value)?;
    Ok(vec![network.unary(end, kind, &x)?])
}

/// Adds a function of `value` that a file writes as several nodes; `end` is the last of them.
pub(in crate::onnx) fn add_activation<'a>(
    network: &mut PartialNetwork<'a>,
    end: Node<'a>,
    function: ActivationFunction,
    value: &Value,
) -> Result<Vec<Activation>, Refusal> {
    let x = network.operand(end, value)?;
    Ok(vec![network.each(end, Op::from(function), &x)?])
}
