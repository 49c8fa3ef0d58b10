//! Operators whose inputs and answers are integers that represent numbers (`QLinear…` of ONNX and
//! of ONNX Runtime), as operators on these numbers.

use super::for_lines;
use super::numbers::{check_scales, numbers, quantised};
use crate::network::{Activation as Function, Binary, Op};
use crate::onnx::activation::{NumberType, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::operators::inputs::{Added, Inputs, unsupported};
use crate::onnx::operators::{dense, elementwise, pools, reduce, select, softmax, windows};
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

/// Returns the inputs at some places as numbers.
fn all_numbers<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    places: impl IntoIterator<Item = usize>,
) -> Result<Vec<Option<Value>>, Refusal> {
    let each = places.into_iter();
    each.map(|at| numbers(network, node, inputs, at).map(Some))
        .collect()
}

/// Adds an operator with one input. Its answer's scale and zero point follow the input's.
fn of_one<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    add: impl FnOnce(&mut PartialNetwork<'a>, &Inputs<'_>) -> Added,
) -> Added {
    let x = all_numbers(network, node, inputs, [0])?;
    let made = add(network, &Inputs(&x))?;
    quantised(network, node, inputs, &made, 3)
}

/// Adds an operator of two inputs.
fn of_two<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    kind: Binary,
) -> Added {
    let a = numbers(network, node, inputs, 0)?;
    let b = numbers(network, node, inputs, 3)?;
    let made = network.binary(node, kind, &a, &b)?;
    quantised(network, node, inputs, &made, 6)
}

pub(in crate::onnx::operators) fn sum<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    of_two(network, node, inputs, Binary::Add)
}

pub(in crate::onnx::operators) fn multiplied<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    of_two(network, node, inputs, Binary::Mul)
}

pub(in crate::onnx::operators) fn pool<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    if node.integer("channels_last").unwrap_or(0) != 0 {
        return unsupported("channels_last");
    }
    of_one(network, node, inputs, |network, x| match node.contrib() {
        Some("QLinearAveragePool") => pools::pool(network, node, x),
        _ => reduce::global_pool(network, node, x),
    })
}

pub(in crate::onnx::operators) fn function<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let function = match node.contrib() {
        Some("QLinearLeakyRelu") => Function::LeakyRelu {
            slope: node.float("alpha").unwrap_or(0.01),
        },
        _ => Function::Sigmoid,
    };
    of_one(network, node, inputs, |network, x| {
        let x = network.input(node, x, 0)?;
        network.each(node, Op::from(function), &x)
    })
}

pub(in crate::onnx::operators) fn shares<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let as_of = node.as_of(node.integer("opset").unwrap_or(13));
    of_one(network, node, inputs, |network, x| {
        softmax::softmax(network, as_of, x)
    })
}

pub(in crate::onnx::operators) fn joined<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let places = (2..inputs.0.len()).step_by(3);
    let parts = all_numbers(network, node, inputs, places)?;
    let made = select::concat(network, node, &Inputs(&parts))?;
    quantised(network, node, inputs, &made, 0)
}

pub(in crate::onnx::operators) fn chosen<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let mut given = vec![Some(inputs.value(0)?.clone())];
    given.extend(all_numbers(network, node, inputs, [1, 4])?);
    let made = elementwise::choose(network, node, &Inputs(&given))?;
    quantised(network, node, inputs, &made, 7)
}

/// Refuses a bias in input `at` that is not one for each row of `weights`.
fn check_bias(inputs: &Inputs<'_>, at: usize, weights: &Constant) -> Result<(), Refusal> {
    let rows = weights.dims.first().copied().unwrap_or(1);
    match inputs.constant(at)? {
        Some(bias) if bias.dims != [rows] => {
            let found = &bias.dims;
            let why = format!("input {at}: expected a bias of [{rows}], found {found:?}");
            Err(NodeFault::Shapes(why).into())
        }
        _ => Ok(()),
    }
}

/// Returns a bias, which is in units of the scales of the input and of each row of weights.
fn bias(inputs: &Inputs<'_>, at: usize, scales: [usize; 2]) -> Result<Option<Value>, Refusal> {
    let Some(bias) = inputs.constant(at)? else {
        return Ok(None);
    };
    let (Some(of_x), Some(of_weights)) = (inputs.number(scales[0])?, inputs.constant(scales[1])?)
    else {
        return unsupported("its scales are not constant");
    };
    let of_weights = of_weights.to_floats();
    let scale = |n: usize| {
        let own = of_weights.get(n).or(of_weights.first());
        of_x * own.copied().unwrap_or(1.0)
    };
    let values = bias.to_floats().into_iter().enumerate();
    let values: Vec<f32> = values.map(|(n, v)| v * scale(n)).collect();
    let (dims, values) = (bias.dims.clone(), Values::Floats(values.into()));
    Ok(Some(Constant { dims, values }.into()))
}

pub(in crate::onnx::operators) fn convolution<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = numbers(network, node, inputs, 0)?;
    let weights = super::weights(inputs, [Some(3), Some(4), Some(5)])?;
    check_bias(inputs, 8, &weights)?;
    let floats = [Some(x), Some(weights.into()), bias(inputs, 8, [1, 4])?];
    let made = windows::conv(network, node, &Inputs(&floats))?;
    quantised(network, node, inputs, &made, 6)
}

pub(in crate::onnx::operators) fn product<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let mut operands = Vec::new();
    for (at, is_row) in [(0, true), (3, false)] {
        let mut x = Value::from(network.input(node, inputs, at)?.typed(NumberType::Floats));
        check_scales(inputs, at + 1, false)?;
        if !network.is_held_as_numbers(node, at) {
            for (n, kind) in [(at + 2, Binary::Sub), (at + 1, Binary::Mul)] {
                let by = for_lines(network, node, inputs.value(n)?, is_row)?;
                x = network.binary(node, kind, &x, &by)?.into();
            }
        }
        operands.push(network.operand(node, &x)?);
    }
    let made = network.product(node, &operands[0], &operands[1])?;
    quantised(network, node, inputs, &made, 6)
}

/// A product of matrices and a bias. If the answer has no scale, it is a number.
pub(in crate::onnx::operators) fn gemm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = numbers(network, node, inputs, 0)?;
    let weights = match node.integer("transB").unwrap_or(0) {
        0 => numbers(network, node, inputs, 3)?,
        _ => super::weights(inputs, [Some(3), Some(4), Some(5)])?.into(),
    };
    let floats = [Some(x), Some(weights), bias(inputs, 6, [1, 4])?];
    let made = dense::gemm(network, node, &Inputs(&floats))?;
    match inputs.has(7) {
        true => quantised(network, node, inputs, &made, 7),
        false => Ok(made),
    }
}
