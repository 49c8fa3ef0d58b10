//! Activations: a function of each value.

use super::inputs::{Added, Inputs, same, unsupported};
use crate::network::{Activation as ActivationFunction, Op};
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::Constant;

/// Returns the function that an operator applies to each value, with the node's attributes, or
/// `None` if it is another operator.
fn function(node: Node<'_>) -> Option<Result<ActivationFunction, Refusal>> {
    let float = |name: &str, default: f32| node.float(name).unwrap_or(default);
    Some(Ok(match node.operator()? {
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
            other => {
                let other = String::from_utf8_lossy(other);
                return Some(unsupported(format!("an approximation by {other}")));
            }
        },
        _ => return None,
    }))
}

pub(super) fn activation<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    match function(node) {
        Some(function) => same(network, node, inputs, Op::from(function?)),
        None => unsupported("an attribute that is not known"),
    }
}

/// Bounds are attributes before opset 11 and inputs after.
pub(super) fn clip<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs) -> Added {
    let given = |n| Ok::<_, Refusal>(inputs.constant(n)?.and_then(Constant::as_scalar));
    let least = node.float("min").or(given(1)?).unwrap_or(f32::NEG_INFINITY);
    let most = node.float("max").or(given(2)?).unwrap_or(f32::INFINITY);
    let function = match (least, most) {
        (0.0, 6.0) => ActivationFunction::Relu6,
        (0.0, most) if most >= f32::MAX => ActivationFunction::Relu,
        // Where the bounds cross, ONNX takes the upper one.
        (least, most) => ActivationFunction::Clip {
            least: least.min(most),
            most,
        },
    };
    same(network, node, inputs, Op::from(function))
}
