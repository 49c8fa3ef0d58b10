//! Turns each operator into an operation of the network, or into another view of its input.

mod dense;
mod elementwise;
mod views;
mod windows;

use super::error::NodeFault;
use super::fold::concat_dims;
use super::import::{Activation, Import, Refusal, Value};
use super::node::{Node, axis};
use super::tensor::Constant;
use crate::network::{Op, Shape};

type Added = Result<Activation, Refusal>;

fn unsupported<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Unsupported(why.into()))
}

/// The inputs of a node; those left out are `None`.
struct Inputs(Vec<Option<Value>>);

impl Inputs {
    fn activation(&self, n: usize) -> Result<&Activation, Refusal> {
        match self.0.get(n).and_then(Option::as_ref) {
            Some(Value::Activation(activation)) => Ok(activation),
            Some(_) => unsupported(format!("input {n} is a constant")),
            None => Err(NodeFault::NoInput(n).into()),
        }
    }

    fn constant(&self, n: usize) -> Result<Option<&Constant>, Refusal> {
        match self.0.get(n).and_then(Option::as_ref) {
            Some(Value::Constant(constant)) => Ok(Some(constant)),
            Some(_) => unsupported(format!("input {n} is no constant")),
            None => Ok(None),
        }
    }

    /// Returns the values of input `n`, which must be floats of `dims`.
    fn floats(&self, n: usize, dims: &[usize]) -> Result<Option<Vec<f32>>, Refusal> {
        let Some(constant) = self.constant(n)? else {
            return Ok(None);
        };
        let wrong = |found: String| {
            let why = format!("input {n}: expected floats of {dims:?}, found {found}");
            Refusal::Fault(NodeFault::Shapes(why))
        };
        if constant.dims != dims {
            return Err(wrong(format!("{:?}", constant.dims)));
        }
        let floats = constant
            .as_floats()
            .ok_or_else(|| wrong("another type".into()))?;
        Ok(Some(floats.to_vec()))
    }

    fn required(&self, n: usize, dims: &[usize]) -> Result<Vec<f32>, Refusal> {
        self.floats(n, dims)?
            .ok_or_else(|| NodeFault::NoInput(n).into())
    }

    fn constants(&self) -> Vec<Option<&Constant>> {
        let constants = self.0.iter().map(|value| match value {
            Some(Value::Constant(constant)) => Some(constant),
            _ => None,
        });
        constants.collect()
    }
}

/// Adds what a node computes. A refusal without text says that an input is not known.
pub(super) fn add<'a>(
    import: &mut Import<'a>,
    node: Node<'a>,
    inputs: Vec<Option<Value>>,
) -> Added {
    let known = node.operator().and_then(handler);
    let Some(handler) = known else {
        return unsupported("the operator is not known");
    };
    if inputs
        .iter()
        .flatten()
        .any(|value| matches!(value, Value::Unknown))
    {
        return unsupported("");
    }
    handler(import, node, &Inputs(inputs))
}

type Handler = for<'a> fn(&mut Import<'a>, Node<'a>, &Inputs) -> Added;

fn handler(operator: &str) -> Option<Handler> {
    Some(match operator {
        "Conv" => windows::conv,
        "BatchNormalization" => elementwise::batch_norm,
        "Relu" => |import, node, inputs| same(import, node, inputs, Op::Relu),
        "Clip" => elementwise::clip,
        "MaxPool" => windows::max_pool,
        "AveragePool" => windows::average_pool,
        "GlobalAveragePool" => windows::global_average,
        "ReduceMean" => windows::reduce_mean,
        "Gemm" => dense::gemm,
        "MatMul" => dense::matmul,
        "Add" | "Sum" => elementwise::sum,
        "Sub" => elementwise::difference,
        "Mul" | "Div" => elementwise::scale,
        "Concat" => concat,
        "Flatten" => views::flatten,
        "Reshape" => views::reshape,
        "Squeeze" => views::squeeze,
        "Unsqueeze" => views::unsqueeze,
        "Identity" | "Dropout" => |_, _, inputs| inputs.activation(0).cloned(),
        "Softmax" => softmax,
        _ => return None,
    })
}

/// Adds an operation on the first input that keeps its dimensions.
fn same<'a>(import: &mut Import<'a>, node: Node<'a>, inputs: &Inputs, op: Op) -> Added {
    let x = inputs.activation(0)?;
    let id = import.layer(node, op, &[x.id], Vec::new())?;
    Ok(Activation { id, ..x.clone() })
}

/// Adds an operation that makes an image.
fn image<'a>(
    import: &mut Import<'a>,
    node: Node<'a>,
    x: &Activation,
    op: Op,
    weights: Vec<(&str, Vec<f32>)>,
) -> Added {
    let id = import.layer(node, op, &[x.id], weights)?;
    let dims: Vec<usize> = import.shape(id).into();
    let dims = [vec![1], dims].concat();
    Ok(Activation { id, dims })
}

/// Returns the channels, height and width of an image.
fn pixels(import: &Import<'_>, x: &Activation) -> Result<[usize; 3], Refusal> {
    match (import.shape(x.id), x.dims.as_slice()) {
        (Shape::Image { .. }, &[1, c, h, w]) => Ok([c, h, w]),
        (_, dims) => unsupported(format!("its input of {dims:?} is no batch of images")),
    }
}

/// Returns the features of a vector.
fn features(import: &Import<'_>, x: &Activation) -> Result<usize, Refusal> {
    match (import.shape(x.id), x.dims.as_slice()) {
        (Shape::Vector { .. }, &[1, features]) => Ok(features),
        (_, dims) => unsupported(format!("its input of {dims:?} is no batch of vectors")),
    }
}

fn concat<'a>(import: &mut Import<'a>, node: Node<'a>, inputs: &Inputs) -> Added {
    let parts = (0..inputs.0.len()).map(|n| inputs.activation(n));
    let parts: Vec<&Activation> = parts.collect::<Result<_, _>>()?;
    let rank = parts.first().map_or(0, |p| p.dims.len());
    let along = axis(node.integer("axis").unwrap_or(1), rank)?;
    if along != 1 {
        return unsupported(format!("joined along axis {along}; channels are axis 1"));
    }
    let dims = concat_dims(
        &parts.iter().map(|p| p.dims.as_slice()).collect::<Vec<_>>(),
        along,
    )?;
    let ids: Vec<_> = parts.iter().map(|p| p.id).collect();
    let id = import.layer(node, Op::Concat, &ids, Vec::new())?;
    Ok(Activation { id, dims })
}

/// Before opset 13 everything behind `axis` is one vector, and the axis is 1 by default.
fn softmax<'a>(import: &mut Import<'a>, node: Node<'a>, inputs: &Inputs) -> Added {
    let x = inputs.activation(0)?;
    let default = if node.opset < 13 { 1 } else { -1 };
    let along = axis(node.integer("axis").unwrap_or(default), x.dims.len())?;
    let others = (0..x.dims.len()).filter(|a| *a != along);
    let is_row = others.map(|a| x.dims[a]).product::<usize>() == 1;
    match import.shape(x.id) {
        Shape::Vector { .. } if is_row => same(import, node, inputs, Op::Softmax),
        _ => unsupported(format!("a softmax over axis {along} of {:?}", x.dims)),
    }
}
