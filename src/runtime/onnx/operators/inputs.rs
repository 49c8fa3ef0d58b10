//! The inputs of a node, and the commonest ways to add an operation.

use crate::network::{Op, Shape};
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{Activation, DimOrder, PartialNetwork, Refusal, Value};
use crate::onnx::tensor::Constant;

pub(super) type Added = Result<Activation, Refusal>;

pub(super) fn unsupported<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Unsupported(why.into()))
}

/// The inputs of a node; those left out are `None`.
pub(super) struct Inputs(pub(super) Vec<Option<Value>>);

impl Inputs {
    /// Returns input `n` in any order of dimensions.
    pub(super) fn seen(&self, n: usize) -> Result<&Activation, Refusal> {
        match self.0.get(n).and_then(Option::as_ref) {
            Some(Value::Activation(activation)) => Ok(activation),
            Some(_) => unsupported(format!("input {n} is a constant")),
            None => Err(NodeFault::NoInput(n).into()),
        }
    }

    /// Returns input `n`, which must be seen channels-first if it is an image.
    pub(super) fn activation(&self, n: usize) -> Result<&Activation, Refusal> {
        let x = self.seen(n)?;
        match x.order {
            DimOrder::ChannelsFirst => Ok(x),
            _ => unsupported(format!("input {n} as {:?}, not channels-first", x.dims)),
        }
    }

    pub(super) fn constant(&self, n: usize) -> Result<Option<&Constant>, Refusal> {
        match self.0.get(n).and_then(Option::as_ref) {
            Some(Value::Constant(constant)) => Ok(Some(constant)),
            Some(_) => unsupported(format!("input {n} is no constant")),
            None => Ok(None),
        }
    }

    /// Returns the values of input `n`, which must be floats of `dims`.
    pub(super) fn floats(&self, n: usize, dims: &[usize]) -> Result<Option<Vec<f32>>, Refusal> {
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

    pub(super) fn required(&self, n: usize, dims: &[usize]) -> Result<Vec<f32>, Refusal> {
        self.floats(n, dims)?
            .ok_or_else(|| NodeFault::NoInput(n).into())
    }

    pub(super) fn constants(&self) -> Vec<Option<&Constant>> {
        let constants = self.0.iter().map(|value| match value {
            Some(Value::Constant(constant)) => Some(constant),
            _ => None,
        });
        constants.collect()
    }
}

/// Adds an operation on the first input that keeps its dimensions.
pub(super) fn same<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
    op: Op,
) -> Added {
    let x = inputs.seen(0)?;
    let id = network.layer(node, op, &[x.id], Vec::new())?;
    Ok(Activation { id, ..x.clone() })
}

/// Adds an operation that makes an image.
pub(super) fn image<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    op: Op,
    weights: Vec<(&str, Vec<f32>)>,
) -> Added {
    let id = network.layer(node, op, &[x.id], weights)?;
    let dims: Vec<usize> = network.shape(id).into();
    let dims = [vec![1], dims].concat();
    Ok(Activation::new(id, dims))
}

/// Returns the channels, height and width of an image.
pub(super) fn pixels(network: &PartialNetwork<'_>, x: &Activation) -> Result<[usize; 3], Refusal> {
    match (network.shape(x.id), x.dims.as_slice()) {
        (Shape::Image { .. }, &[1, c, h, w]) => Ok([c, h, w]),
        (_, dims) => unsupported(format!("its input of {dims:?} is no batch of images")),
    }
}

/// Returns the features of a vector.
pub(super) fn features(network: &PartialNetwork<'_>, x: &Activation) -> Result<usize, Refusal> {
    match (network.shape(x.id), x.dims.as_slice()) {
        (Shape::Vector { .. }, &[1, features]) => Ok(features),
        (_, dims) => unsupported(format!("its input of {dims:?} is no batch of vectors")),
    }
}
