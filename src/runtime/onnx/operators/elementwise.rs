//! Operations on each value by itself, and on each channel.

use super::inputs::{Added, Inputs, same, unsupported};
use crate::network::Op;
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{Activation, PartialNetwork, Refusal, Value};
use crate::onnx::tensor::Constant;

pub(super) fn batch_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.activation(0)?;
    let c = network.shape(x.id).channels();
    if x.dims.get(1) != Some(&c) {
        return unsupported(format!("its input of {:?} has no channels", x.dims));
    }
    if node.integer("spatial") == Some(0) || node.integer("training_mode") == Some(1) {
        return unsupported("statistics that are not those of a channel in inference");
    }
    let eps = node.float("epsilon").unwrap_or(1e-5);
    let names = ["weight", "bias", "running_mean", "running_var"];
    let read = |(n, name)| Ok((name, inputs.required(n + 1, &[c])?));
    let weights = names.into_iter().enumerate().map(read);
    let weights = weights.collect::<Result<Vec<_>, Refusal>>()?;
    let id = network.layer(node, Op::BatchNorm { eps }, &[x.id], weights)?;
    Ok(Activation { id, ..x.clone() })
}

/// Bounds are attributes before opset 11 and inputs after.
pub(super) fn clip<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs) -> Added {
    let given = |n| Ok::<_, Refusal>(inputs.constant(n)?.and_then(Constant::as_scalar));
    let least = node.float("min").or(given(1)?).unwrap_or(f32::NEG_INFINITY);
    let most = node.float("max").or(given(2)?).unwrap_or(f32::INFINITY);
    match (least, most) {
        (0.0, 6.0) => same(network, node, inputs, Op::Relu6),
        (0.0, most) if most >= f32::MAX => same(network, node, inputs, Op::Relu),
        _ => unsupported(format!("bounds of {least} and {most}; 0 and 6 are known")),
    }
}

/// A sum of two activations, or of one and a constant for each channel.
pub(super) fn sum<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs) -> Added {
    if inputs.0.len() != 2 {
        return unsupported(format!("a sum of {} inputs; two are known", inputs.0.len()));
    }
    match operands(inputs)? {
        Operands::Constant { x, constant, .. } => {
            let shift = channels(x, constant)?;
            affine(network, node, x, vec![1.0; shift.len()], shift)
        }
        Operands::Activations(a, b) if same_place(network, a, b) => {
            let id = network.layer(node, Op::Add, &[a.id, b.id], Vec::new())?;
            Ok(Activation { id, ..a.clone() })
        }
        Operands::Activations(a, b) => {
            unsupported(format!("a sum of {:?} and {:?}", a.dims, b.dims))
        }
    }
}

/// A constant taken from an activation.
pub(super) fn difference<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    match operands(inputs)? {
        Operands::Constant {
            x,
            constant,
            first: false,
        } => {
            let shift: Vec<f32> = channels(x, constant)?.into_iter().map(|v| -v).collect();
            affine(network, node, x, vec![1.0; shift.len()], shift)
        }
        _ => unsupported("operands that are not an activation less a constant"),
    }
}

/// A product with a constant, or a quotient by it: one number, or one for each channel.
pub(super) fn scale<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let is_product = node.operator() == Some("Mul");
    let (x, constant) = match operands(inputs)? {
        Operands::Constant { x, constant, first } if is_product || !first => (x, constant),
        _ => return unsupported("operands that are not one activation and a constant"),
    };
    let factor = |v: f32| if is_product { v } else { v.recip() };
    if let Some(by) = constant.as_scalar() {
        let id = network.layer(node, Op::Scale { by: factor(by) }, &[x.id], Vec::new())?;
        return Ok(Activation { id, ..x.clone() });
    }
    let scale: Vec<f32> = channels(x, constant)?.into_iter().map(factor).collect();
    let shift = vec![0.0; scale.len()];
    affine(network, node, x, scale, shift)
}

/// The inputs of an operator that takes two.
enum Operands<'a> {
    Activations(&'a Activation, &'a Activation),
    Constant {
        x: &'a Activation,
        constant: &'a Constant,
        /// Whether the constant comes first.
        first: bool,
    },
}

fn operands(inputs: &Inputs) -> Result<Operands<'_>, Refusal> {
    let input = |n: usize| inputs.0.get(n).and_then(Option::as_ref);
    if let (Some(Value::Activation(x)), Some(Value::Constant(c)))
    | (Some(Value::Constant(c)), Some(Value::Activation(x))) = (input(0), input(1))
        && c.dims.len() > x.dims.len()
    {
        // The answer would have the constant's dimensions.
        return unsupported(format!("a constant of {:?} on {:?}", c.dims, x.dims));
    }
    match (input(0), input(1)) {
        (Some(Value::Activation(a)), Some(Value::Activation(b))) => Ok(Operands::Activations(a, b)),
        (Some(Value::Activation(x)), Some(Value::Constant(constant))) => {
            let first = false;
            Ok(Operands::Constant { x, constant, first })
        }
        (Some(Value::Constant(constant)), Some(Value::Activation(x))) => {
            let first = true;
            Ok(Operands::Constant { x, constant, first })
        }
        (None, _) => Err(NodeFault::NoInput(0).into()),
        _ => Err(NodeFault::NoInput(1).into()),
    }
}

fn same_place(network: &PartialNetwork<'_>, a: &Activation, b: &Activation) -> bool {
    a.dims == b.dims && network.shape(a.id) == network.shape(b.id)
}

/// Returns a constant's value for each channel, the second dimension of `x`.
fn channels(x: &Activation, constant: &Constant) -> Result<Vec<f32>, Refusal> {
    let count = x.dims.get(1).copied().unwrap_or_default();
    let floats = constant.as_floats().unwrap_or_default();
    // Dimensions are compared from the last on; those that are missing are 1.
    let missing = x.dims.len().saturating_sub(constant.dims.len());
    let dims = std::iter::repeat_n(&1, missing).chain(&constant.dims);
    let one_each = dims
        .enumerate()
        .all(|(at, d)| *d == if at == 1 { count } else { 1 });
    match floats {
        [one] => Ok(vec![*one; count]),
        _ if one_each && floats.len() == count => Ok(floats.to_vec()),
        _ => unsupported(format!("a constant of {:?} on {:?}", constant.dims, x.dims)),
    }
}

/// So small that a variance of 1 stays 1.
const NO_EPS: f32 = 1e-30;

/// Adds `x · scale + shift` for each channel, as a norm of mean 0 and variance 1.
fn affine<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    scale: Vec<f32>,
    shift: Vec<f32>,
) -> Added {
    let c = network.shape(x.id).channels();
    if c != scale.len() {
        return unsupported(format!("{} channels seen as {:?}", c, x.dims));
    }
    let (mean, variance) = (vec![0.0; c], vec![1.0; c]);
    let names = ["weight", "bias", "running_mean", "running_var"];
    let weights = names
        .into_iter()
        .zip([scale, shift, mean, variance])
        .collect();
    let id = network.layer(node, Op::BatchNorm { eps: NO_EPS }, &[x.id], weights)?;
    Ok(Activation { id, ..x.clone() })
}
