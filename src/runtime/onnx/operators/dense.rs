//! Fully connected layers: products of a vector with a constant matrix.

use super::inputs::{Added, Inputs, features, unsupported};
use crate::network::{Conv2d, NodeId, Op};
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{Activation, DimOrder, PartialNetwork, Refusal};
use crate::onnx::tensor::Constant;

/// A fully connected layer, its weights `[features, inputs]`.
pub(super) struct Dense {
    pub(super) values: Vec<f32>,
    pub(super) bias: Option<Vec<f32>>,
    pub(super) inputs: usize,
    pub(super) features: usize,
}

impl Dense {
    pub(super) fn add(
        self,
        network: &mut PartialNetwork<'_>,
        node: Node<'_>,
        x: &Activation,
    ) -> Result<NodeId, Refusal> {
        let Dense {
            values,
            bias,
            inputs,
            features,
        } = self;
        if features.checked_mul(inputs) != Some(values.len()) {
            let why = format!(
                "{} weights for {inputs} inputs and {features} features",
                values.len()
            );
            return Err(NodeFault::Shapes(why).into());
        }
        let op = Op::Linear {
            features,
            bias: bias.is_some(),
        };
        let bias = bias.map(|b| ("bias", b));
        let weights = [("weight", values)].into_iter().chain(bias).collect();
        network.layer(node, op, &[x.id], weights)
    }
}

impl Dense {
    /// Adds the layer to each pixel of an image: a convolution of one pixel.
    fn add_to_pixels(
        self,
        network: &mut PartialNetwork<'_>,
        node: Node<'_>,
        x: &Activation,
    ) -> Result<NodeId, Refusal> {
        let conv = Conv2d {
            bias: self.bias.is_some(),
            ..Conv2d::new(self.features, 1)
        };
        let bias = self.bias.map(|b| ("bias", b));
        let weights = [("weight", self.values)].into_iter().chain(bias).collect();
        network.layer(node, Op::Conv2d(conv), &[x.id], weights)
    }
}

/// Returns a matrix with rows and columns exchanged.
fn transposed(values: &[f32], columns: usize) -> Vec<f32> {
    let rows = values.len() / columns.max(1);
    let column = |c: usize| (0..rows).map(move |r| values[r * columns + c]);
    (0..columns).flat_map(column).collect()
}

pub(super) fn gemm<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs) -> Added {
    let x = inputs.activation(0)?;
    let width = features(network, x)?;
    let matrix = inputs.constant(1)?.ok_or(NodeFault::NoInput(1))?;
    let &[rows, columns] = matrix.dims.as_slice() else {
        let why = format!("input 1 of {:?} is no matrix", matrix.dims);
        return Err(NodeFault::Shapes(why).into());
    };
    if node.integer("transA").unwrap_or(0) != 0 {
        return unsupported("transA");
    }
    let mut values = inputs.required(1, &matrix.dims)?;
    let (features, inner) = match node.integer("transB").unwrap_or(0) {
        0 => (columns, rows),
        _ => (rows, columns),
    };
    if inner != width {
        let why = format!("{width} features meet a matrix for {inner}");
        return Err(NodeFault::Shapes(why).into());
    }
    if node.integer("transB").unwrap_or(0) == 0 {
        values = transposed(&values, columns);
    }
    let bias = addend(
        inputs.constant(2)?,
        features,
        node.float("beta").unwrap_or(1.0),
    )?;
    let alpha = node.float("alpha").unwrap_or(1.0);
    if alpha != 1.0 {
        values.iter_mut().for_each(|v| *v *= alpha);
    }
    let dense = Dense {
        values,
        bias,
        inputs: width,
        features,
    };
    let id = dense.add(network, node, x)?;
    Ok(Activation::new(id, vec![1, features]))
}

/// Returns what is added to each of `features`: a value for each, or one for all, times `beta`.
fn addend(
    constant: Option<&Constant>,
    features: usize,
    beta: f32,
) -> Result<Option<Vec<f32>>, Refusal> {
    let Some(constant) = constant else {
        return Ok(None);
    };
    let values = constant.as_floats().unwrap_or_default();
    let row = match values {
        [one] => vec![*one; features],
        all if all.len() == features && constant.dims.last() == Some(&features) => all.to_vec(),
        _ => {
            let why = format!("{:?} cannot be added to {features} features", constant.dims);
            return Err(NodeFault::Shapes(why).into());
        }
    };
    Ok(Some(row.into_iter().map(|v| v * beta).collect()))
}

pub(super) fn matmul<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.seen(0)?;
    let width = inner(network, x)?;
    let matrix = inputs.constant(1)?.ok_or(NodeFault::NoInput(1))?;
    let &[rows, features] = matrix.dims.as_slice() else {
        return unsupported(format!("a product with a constant of {:?}", matrix.dims));
    };
    if rows != width {
        let why = format!("{width} features meet a matrix for {rows}");
        return Err(NodeFault::Shapes(why).into());
    }
    let values = transposed(&inputs.required(1, &matrix.dims)?, features);
    let bias = network.absorb_bias(node, features);
    let has_bias = bias.is_some();
    let dense = Dense {
        values,
        bias,
        inputs: width,
        features,
    };
    let id = match x.order {
        DimOrder::ChannelsLast => dense.add_to_pixels(network, node, x)?,
        _ => dense.add(network, node, x)?,
    };
    let mut made = Activation { id, ..x.clone() };
    if let Some(last) = made.dims.last_mut() {
        *last = features;
    }
    if has_bias {
        network.answer_also(node, &made);
    }
    Ok(made)
}

/// Returns the values that a product sums over: a vector's features, or the channels of an
/// image that is seen channels-last.
fn inner(network: &PartialNetwork<'_>, x: &Activation) -> Result<usize, Refusal> {
    match x.order {
        DimOrder::ChannelsLast => Ok(network.shape(x.id).channels()),
        _ => features(network, x),
    }
}
