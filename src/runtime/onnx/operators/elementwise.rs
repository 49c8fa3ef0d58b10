//! Operations on each value by itself, and on each channel.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Op, Shape};
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{Activation, DimOrder, PartialNetwork, Refusal, Value};
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

/// A sum of activations, or of one and a constant for each channel.
pub(super) fn sum<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs) -> Added {
    if inputs.0.len() != 2 {
        return sum_of_many(network, node, inputs);
    }
    match operands(inputs)? {
        Operands::Constant { x, constant, .. } => {
            let shift = channels(network, x, constant)?;
            affine(network, node, x, vec![1.0; shift.len()], shift)
        }
        Operands::Activations(a, b) => paired(network, node, Op::Add, a, b),
    }
}

/// A sum of any number of activations, one after the other.
fn sum_of_many<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs) -> Added {
    let mut sum = inputs.seen(0)?.clone();
    for n in 1..inputs.0.len() {
        sum = paired(network, node, Op::Add, &sum, inputs.seen(n)?)?;
    }
    Ok(sum)
}

/// Adds the sum or product of two activations: alike, or an image and a value for each of its
/// channels.
fn paired<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    op: Op,
    a: &Activation,
    b: &Activation,
) -> Added {
    let whole = match (same_place(network, a, b), is_row_of(network, a, b)) {
        (true, _) | (_, true) => a,
        _ if is_row_of(network, b, a) => b,
        _ => return unsupported(format!("operands of {:?} and {:?}", a.dims, b.dims)),
    };
    let id = network.layer(node, op, &[a.id, b.id], Vec::new())?;
    Ok(Activation {
        id,
        ..whole.clone()
    })
}

/// Whether `row` holds a value for each channel of `image`, under the same dimensions but for
/// those of pixels, which are 1.
fn is_row_of(network: &PartialNetwork<'_>, image: &Activation, row: &Activation) -> bool {
    let shape = network.shape(image.id);
    let Some(along) = image.channel_axis(shape) else {
        return false;
    };
    let fits = |(at, (&of, &d)): (usize, (&usize, &usize))| d == if at == along { of } else { 1 };
    let is_image = matches!(shape, Shape::Image { .. });
    let is_pixel = network.shape(row.id).elements() == shape.channels();
    let plain = row.order == DimOrder::ChannelsFirst || row.order == image.order;
    is_image
        && is_pixel
        && plain
        && row.dims.len() == image.dims.len()
        && image.dims.iter().zip(&row.dims).enumerate().all(fits)
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
            let shift: Vec<f32> = channels(network, x, constant)?
                .into_iter()
                .map(|v| -v)
                .collect();
            affine(network, node, x, vec![1.0; shift.len()], shift)
        }
        _ => unsupported("operands that are not an activation less a constant"),
    }
}

/// A product of two activations or with a constant, or a quotient by a constant: one number, or
/// one for each channel.
pub(super) fn scale<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let is_product = node.operator() == Some("Mul");
    let (x, constant) = match operands(inputs)? {
        Operands::Activations(a, b) if is_product => {
            return paired(network, node, Op::Mul, a, b);
        }
        Operands::Constant { x, constant, first } if is_product || !first => (x, constant),
        _ => return unsupported("operands that are not one activation and a constant"),
    };
    let factor = |v: f32| if is_product { v } else { v.recip() };
    if let Some(by) = constant.as_scalar() {
        let id = network.layer(node, Op::Scale { by: factor(by) }, &[x.id], Vec::new())?;
        return Ok(Activation { id, ..x.clone() });
    }
    let scale: Vec<f32> = channels(network, x, constant)?
        .into_iter()
        .map(factor)
        .collect();
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
    a.dims == b.dims && a.order == b.order && network.shape(a.id) == network.shape(b.id)
}

/// Returns a constant's value for each channel of `x`.
fn channels(
    network: &PartialNetwork<'_>,
    x: &Activation,
    constant: &Constant,
) -> Result<Vec<f32>, Refusal> {
    let Some(along) = x.channel_axis(network.shape(x.id)) else {
        return unsupported(format!("a constant of {:?} on {:?}", constant.dims, x.dims));
    };
    let count = x.dims[along];
    let floats = constant.as_floats().unwrap_or_default();
    // Dimensions are compared from the last on; those that are missing are 1.
    let missing = x.dims.len().saturating_sub(constant.dims.len());
    let dims = std::iter::repeat_n(&1, missing).chain(&constant.dims);
    let one_each = dims
        .enumerate()
        .all(|(at, d)| *d == if at == along { count } else { 1 });
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
