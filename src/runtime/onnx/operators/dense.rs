//! Products of matrices: fully connected layers if one of them is constant.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Binary, Conv2d, Op, Shape, Sides, TensorOp, transposed};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::floats::Floats;
use crate::onnx::layout::Layout;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::shapes::broadcast_dims;
use crate::onnx::tensor::{Constant, Values};

/// A fully connected layer, its weights `[features, inputs]`.
pub(in crate::onnx) struct Dense {
    pub(super) values: Floats,
    pub(super) bias: Option<Vec<f32>>,
    pub(super) inputs: usize,
    pub(super) features: usize,
}

impl Dense {
    /// Creates a layer from a constant matrix times `by`, whose rows are the features if `rows`.
    pub(super) fn new(matrix: &Constant, rows: bool, by: f32) -> Option<Self> {
        let leading = matrix.dims.len().checked_sub(2)?;
        let &[one, other] = matrix.dims.get(leading..)? else {
            return None;
        };
        if matrix.dims[..leading].iter().any(|d| *d != 1) {
            return None;
        }
        let (features, inputs) = if rows { (one, other) } else { (other, one) };
        let values = match &matrix.values {
            Values::Floats(held) if !held.are_finite() => return None,
            Values::Floats(Floats::InFile(held)) if by == 1.0 => {
                let held = held.clone();
                let held = if rows { held } else { held.transposed(other) };
                Floats::InFile(held)
            }
            _ => scaled(matrix, rows, by).into(),
        };
        Some(Dense {
            values,
            bias: None,
            inputs,
            features,
        })
    }

    /// Adds the layer over the last axis of `x`.
    pub(super) fn add<'a>(
        self,
        network: &mut PartialNetwork<'a>,
        node: Node<'a>,
        x: &Activation,
    ) -> Added {
        let Dense {
            values,
            bias,
            inputs,
            features,
        } = self;
        let mut dims = x.dims().to_vec();
        let Some(last) = dims
            .len()
            .checked_sub(1)
            .filter(|&last| dims[last] == inputs)
        else {
            let why = format!("{dims:?} does not fit a matrix for {inputs}");
            return Err(NodeFault::Shapes(why).into());
        };
        if features.checked_mul(inputs) != Some(values.len()) {
            let why = format!(
                "{} weights for {inputs} inputs and {features} features",
                values.len()
            );
            return Err(NodeFault::Shapes(why).into());
        }
        let axes = x.layout.ending_in(&[last]);
        let is_image = matches!(network.shape(x.id), Shape::Image { channels, .. }
            if channels == inputs && inputs > 1 && x.layout.lies_as(&axes));
        let has_bias = bias.is_some();
        let bias = bias.map(|b| ("bias", b.into()));
        let weights = [("weight", values)].into_iter().chain(bias).collect();
        let (op, from) = match is_image {
            // A product with each pixel.
            true => (Op::Conv2d(point(features, has_bias)), x.id),
            false => {
                let bias = has_bias;
                let from = network.stored(node, x, &axes)?;
                (Op::Linear { features, bias }, from)
            }
        };
        let id = network.layer_of(node, op, &[from], weights)?;
        dims[last] = features;
        Ok(Activation {
            id,
            layout: Layout::new(dims, &axes),
            numbers: x.numbers,
        })
    }
}

/// Returns the values of a matrix times `by`, by its rows or by its columns.
fn scaled(matrix: &Constant, rows: bool, by: f32) -> Vec<f32> {
    let held = matrix.to_floats();
    let columns = matrix.dims.last().copied().unwrap_or_default();
    let mut values = match rows {
        true => held,
        false => transposed(&held, columns),
    };
    values.iter_mut().for_each(|v| *v *= by);
    values
}

/// Returns a convolution with a kernel of one pixel.
fn point(features: usize, bias: bool) -> Conv2d {
    Conv2d {
        channels: features,
        kernel: Sides::square(1),
        stride: 1,
        padding: Sides::square(0),
        dilation: 1,
        groups: 1,
        bias,
    }
}

pub(super) fn gemm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let turned = |name| node.integer(name).unwrap_or(0) != 0;
    let (a, b) = (inputs.value(0)?, inputs.value(1)?);
    if [a, b].iter().any(|v| v.dims().is_none_or(|d| d.len() != 2)) {
        return Err(NodeFault::Shapes("its inputs are not matrices".into()).into());
    }
    let alpha = node.float("alpha").unwrap_or(1.0);
    let beta = node.float("beta").unwrap_or(1.0);
    // A factor of 0 skips the addend, which may be infinite.
    let addend = inputs
        .0
        .get(2)
        .and_then(Option::as_ref)
        .filter(|_| beta != 0.0);
    if let (Value::Activation(x), Value::Constant(matrix)) = (a, b)
        && let Some(mut dense) = Dense::new(matrix, turned("transB"), alpha)
    {
        let x = if turned("transA") {
            x.turned()
        } else {
            x.clone()
        };
        let row = addend.and_then(|c| row(c, dense.features, beta));
        let rest = addend.filter(|_| row.is_none());
        dense.bias = row;
        let made = dense.add(network, node, &x)?;
        return plus(network, node, made, rest, beta);
    }
    let mut operand = |value: &Value, name| {
        let x = network.operand(node, value)?;
        Ok::<_, Refusal>(if turned(name) { x.turned() } else { x })
    };
    let (a, b) = (operand(a, "transA")?, operand(b, "transB")?);
    let made = network.product(node, &a, &b)?;
    let made = network.with_number(node, Binary::Mul, &made, alpha, false)?;
    plus(network, node, made, addend, beta)
}

/// Returns a constant that is one value for each feature, or one for all, times `beta`.
fn row(value: &Value, features: usize, beta: f32) -> Option<Vec<f32>> {
    let Value::Constant(constant) = value else {
        return None;
    };
    let row = match constant.as_floats()? {
        [one] => vec![*one; features],
        all if all.len() == features && constant.dims.last() == Some(&features) => all.to_vec(),
        _ => return None,
    };
    let row: Vec<f32> = row.into_iter().map(|v| v * beta).collect();
    row.iter().all(|v| v.is_finite()).then_some(row)
}

/// Adds `beta` times a value.
fn plus<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: Activation,
    addend: Option<&Value>,
    beta: f32,
) -> Added {
    let Some(addend) = addend else {
        return Ok(x);
    };
    let addend = match addend {
        Value::Constant(c) => Value::Constant(Constant {
            dims: c.dims.clone(),
            values: Values::Floats(c.to_floats().into_iter().map(|v| v * beta).collect()),
        }),
        other => {
            let other = network.operand(node, other)?;
            network
                .with_number(node, Binary::Mul, &other, beta, false)?
                .into()
        }
    };
    network.binary(node, Binary::Add, &x.into(), &addend)
}

pub(super) fn matmul<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    match (inputs.value(0)?, inputs.value(1)?) {
        (Value::Activation(x), Value::Constant(matrix))
            if matrix.dims.len() <= x.dims().len().max(2) =>
        {
            if let Some(dense) = Dense::new(matrix, false, 1.0) {
                return with_bias(network, node, x, dense);
            }
        }
        // The product of the transposed ones is the product transposed.
        (Value::Constant(matrix), Value::Activation(x))
            if x.dims().len() >= matrix.dims.len().max(2) =>
        {
            if let Some(dense) = Dense::new(matrix, true, 1.0) {
                return Ok(dense.add(network, node, &x.turned())?.turned());
            }
        }
        _ => {}
    }
    let a = network.input(node, inputs, 0)?;
    let b = network.input(node, inputs, 1)?;
    network.product(node, &a, &b)
}

/// The product of two values as matrices, times a number.
pub(super) fn scaled_matmul<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    by: f32,
) -> Added {
    let (a, b) = (inputs.value(0)?, inputs.value(1)?);
    if let (Value::Activation(x), Value::Constant(matrix)) = (a, b)
        && let Some(dense) = Dense::new(matrix, false, by)
    {
        return dense.add(network, node, x);
    }
    let a = network.input(node, inputs, 0)?;
    let b = network.input(node, inputs, 1)?;
    let made = network.product(node, &a, &b)?;
    network.with_number(node, Binary::Mul, &made, by, false)
}

/// Adds a layer over the last axis of `x`, with the constant that is added to the answer of `node`.
pub(super) fn with_bias<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    dense: Dense,
) -> Added {
    let bias = network.absorb_bias(node, dense.features, x.dims().len());
    let has_bias = bias.is_some();
    let made = Dense { bias, ..dense }.add(network, node, x)?;
    if has_bias {
        network.answer_also(node, &made);
    }
    Ok(made)
}

impl<'a> PartialNetwork<'a> {
    /// Adds the product of two values as matrices; several products at once if they have more axes.
    pub(super) fn product(&mut self, node: Node<'a>, a: &Activation, b: &Activation) -> Added {
        let (row, column) = (a.dims().len() == 1, b.dims().len() == 1);
        let matrix = |x: &Activation, dims: Vec<usize>| match x.dims().len() {
            0 => unsupported("one of its inputs is a single number"),
            1 => Ok(x.with_layout(Layout::row_major(dims))),
            _ => Ok(x.clone()),
        };
        let a = matrix(a, [vec![1], a.dims().to_vec()].concat())?;
        let b = matrix(b, [b.dims().to_vec(), vec![1]].concat())?;
        let made = self.product_of(node, &a, &b)?;
        let mut dims = made.dims().to_vec();
        if row {
            dims.remove(dims.len() - 2);
        }
        if column {
            dims.pop();
        }
        self.reshaped(node, &made, &dims)
    }

    fn product_of(&mut self, node: Node<'a>, a: &Activation, b: &Activation) -> Added {
        let (before, after) = (a.dims().len() - 2, b.dims().len() - 2);
        let many = broadcast_dims(&a.dims()[..before], &b.dims()[..after])?;
        let rank = many.len() + 2;
        let (&[m, k], &[l, n]) = (&a.dims()[before..], &b.dims()[after..]) else {
            return unsupported("its inputs are not matrices");
        };
        if k != l {
            let why = format!("{:?} and {:?} cannot be multiplied", a.dims(), b.dims());
            return Err(NodeFault::Shapes(why).into());
        }
        let mut axes: Vec<usize> = (0..many.len()).filter(|&axis| many[axis] > 1).collect();
        axes.extend([rank - 2, rank - 1]);
        let raised = [a, b].map(|x| x.with_layout(x.layout.with_rank(rank)));
        let left = self.stored(node, &raised[0], &axes)?;
        let right = self.stored(node, &raised[1], &axes)?;
        let id = self.tensor(node, TensorOp::MatMul, &[left, right])?;
        let layout = Layout::new([many, vec![m, n]].concat(), &axes);
        Ok(Activation {
            id,
            layout,
            numbers: a.numbers,
        })
    }
}
