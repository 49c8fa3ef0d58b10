//! Positions of a tensor selected by indices.

use std::borrow::Cow;

use super::inputs::{Added, Inputs, unsupported};
use super::select::{exact_positions, place, replaced, spread};
use crate::network::{Binary, Op, Reduction, TensorOp};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::floats::Floats;
use crate::onnx::fold::permuted;
use crate::onnx::indices;
use crate::onnx::layout::Layout;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::PartialNetwork;
use crate::onnx::tensor::{Constant, Values};

pub(super) fn gather<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let along = node.integer("axis").unwrap_or(0);
    match (inputs.value(0)?, inputs.value(1)?) {
        (Value::Activation(x), Value::Constant(which)) => {
            let along = axis(along, x.dims().len())?;
            network.take(node, x, along, which)
        }
        (Value::Constant(table), Value::Activation(which)) => {
            embedding(network, node, table, which, along)
        }
        _ => {
            let x = network.input(node, inputs, 0)?;
            let which = network.input(node, inputs, 1)?;
            let along = axis(along, x.dims().len())?;
            gathered(network, node, &x, &which, along)
        }
    }
}

/// Adds the positions along an axis selected by computed indices.
pub(super) fn gathered<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    which: &Activation,
    along: usize,
) -> Added {
    if along >= x.dims().len() {
        return Err(NodeFault::Shapes(format!("axis {along} is outside of {:?}", x.dims())).into());
    }
    let axes = x.layout.axes_with(&[along]);
    let order = which.layout.order().to_vec();
    let ids = [
        network.stored(node, x, &axes)?,
        network.stored(node, which, &order)?,
    ];
    let op = TensorOp::Gather {
        axis: place(&axes, along),
    };
    let id = network.tensor(node, op, &ids)?;
    let dims = replaced(x.dims(), along, which.dims());
    let rank = which.dims().len();
    let layout = Layout::new(dims, &spread(&axes, along, rank, Some(&order)));
    Ok(Activation {
        id,
        ..x.with_layout(layout)
    })
}

/// Rows of a constant table, which lie as their indices do.
pub(super) fn embedding<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    table: &Constant,
    which: &Activation,
    along: i64,
) -> Added {
    let rank = table.dims.len();
    let along = axis(along, rank)?;
    let others: Vec<usize> = (0..rank).filter(|a| *a != along).collect();
    let in_file = match &table.values {
        Values::Floats(held @ Floats::InFile(_)) if along == 0 => Some(held.clone()),
        _ => None,
    };
    let numbers = (&table.values).into();
    let table = match &in_file {
        Some(_) => Cow::Borrowed(table),
        None => Cow::Owned(permuted(table, &[vec![along], others].concat())),
    };
    let (rows, rest) = (table.dims[0], table.dims[1..].to_vec());
    let features = rest.iter().product();
    let order = which.layout.order().to_vec();
    let from = network.stored(node, which, &order)?;
    let op = Op::Tensor(TensorOp::Embedding { rows, features });
    let held = in_file.unwrap_or_else(|| table.to_floats().into());
    let id = network.layer_of(node, op, &[from], vec![("weight", held)])?;
    let width = which.dims().len();
    let dims = [which.dims(), &rest].concat();
    let axes: Vec<usize> = order.into_iter().chain(width..dims.len()).collect();
    let made = Activation {
        id,
        layout: Layout::new(dims, &axes),
        numbers,
    };
    // The table's axes before the gathered one come first.
    let mut file: Vec<usize> = (width..width + along).collect();
    file.extend(0..width);
    file.extend(width + along..width + rest.len());
    Ok(made.transposed(&file))
}

/// `GatherElements` and `GatherND`.
pub(super) fn positions<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let is_nd = node.operator() == Some("GatherND");
    let batch = node.integer("batch_dims").unwrap_or(0);
    match inputs.value(1)? {
        Value::Constant(which) => {
            let x = network.input(node, inputs, 0)?;
            let positions = match is_nd {
                true => indices::nd(x.dims(), which, batch)?,
                false => indices::elements(x.dims(), which, node.integer("axis"))?,
            };
            network.at(node, &x, positions)
        }
        Value::Activation(which) if is_nd => {
            computed_rows(network, node, inputs.value(0)?, which, batch)
        }
        Value::Activation(which) => {
            let data = inputs.value(0)?;
            let rank = data.dims().map_or(0, <[usize]>::len);
            let along = axis(node.integer("axis").unwrap_or(0), rank)?;
            computed_elements(network, node, data, which, along)
        }
        Value::Unknown => unsupported(""),
    }
}

/// Returns indices with negative ones counted from the end of their axis. The size of the axis is a
/// number, or one for each position of the last axis.
fn from_start<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    which: &Activation,
    size: &Constant,
) -> Added {
    let negative = network.with_number(node, Binary::Less, which, 0.0, false)?;
    let more = network.with(node, Binary::Mul, &negative, size, false)?;
    network.pair(node, Binary::Add, which, &more)
}

/// Adds rows of `rows` values in the order of the file, selected by computed positions.
fn rows_at<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    data: &Value,
    at: &Activation,
    [rows, features]: [usize; 2],
) -> Added {
    match data {
        Value::Constant(table) => {
            let dims = vec![rows, features];
            let values = table.values.clone();
            embedding(network, node, &Constant { dims, values }, at, 0)
        }
        data => {
            let x = network.operand(node, data)?;
            let x = network.reshaped(node, &x, &[rows, features])?;
            let x = network.in_order(node, &x, &[0, 1])?;
            gathered(network, node, &x, at, 0)
        }
    }
}

fn integers(dims: Vec<usize>, values: impl Iterator<Item = usize>) -> Constant {
    let values = Values::Integers(values.map(|v| v as i64).collect());
    Constant { dims, values }
}

/// Adds the values along an axis selected by computed indices, each in its own row.
pub(super) fn computed_elements<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    data: &Value,
    which: &Activation,
    along: usize,
) -> Added {
    let dims = data.dims().unwrap_or_default().to_vec();
    exact_positions(dims.iter().product())?;
    // The places of constant indices of 0 are the starts from which the others are counted.
    let count: usize = which.dims().iter().product();
    network.fold_budget.spend(count)?;
    let zeros = integers(which.dims().to_vec(), std::iter::repeat_n(0, count));
    let (made, starts) = indices::elements(&dims, &zeros, Some(along as i64))?;
    let size = integers(Vec::new(), std::iter::once(dims[along]));
    let stride: usize = dims[along + 1..].iter().product();
    let at = from_start(network, node, which, &size)?;
    let at = network.with_number(node, Binary::Mul, &at, stride as f32, false)?;
    let starts = integers(made.clone(), starts.into_iter());
    let at = network.with(node, Binary::Add, &at, &starts, false)?;
    let rows = dims.iter().product();
    let values = rows_at(network, node, data, &at, [rows, 1])?;
    network.reshaped(node, &values, &made)
}

fn computed_rows<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    data: &Value,
    which: &Activation,
    batch: i64,
) -> Added {
    let dims = data.dims().unwrap_or_default().to_vec();
    let count: usize = which.dims().iter().product();
    network.fold_budget.spend(count)?;
    let zeros = integers(which.dims().to_vec(), std::iter::repeat_n(0, count));
    let (made, positions) = indices::nd(&dims, &zeros, batch)?;
    let depth = which.dims().last().copied().unwrap_or(1);
    let batch = usize::try_from(batch).unwrap_or(0);
    let sizes = &dims[batch..batch + depth];
    let features: usize = dims[batch + depth..].iter().product();
    let strides = (0..depth).map(|k| sizes[k + 1..].iter().product::<usize>());
    let at = from_start(
        network,
        node,
        which,
        &integers(vec![depth], sizes.iter().copied()),
    )?;
    let strides = integers(vec![depth], strides);
    let at = network.with(node, Binary::Mul, &at, &strides, false)?;
    let last = which.dims().len() - 1;
    let at = network.reduce(node, Reduction::Sum, &at, &[last])?;
    let before = which.dims()[..last].to_vec();
    let at = network.reshaped(node, &at, &before)?;
    let starts = positions
        .into_iter()
        .step_by(features.max(1))
        .map(|p| p / features.max(1));
    let at = network.with(node, Binary::Add, &at, &integers(before, starts), false)?;
    let rows = dims.iter().product::<usize>() / features.max(1);
    exact_positions(rows)?;
    let values = rows_at(network, node, data, &at, [rows, features])?;
    network.reshaped(node, &values, &made)
}

/// 1 at the position that each index names, or two other values.
pub(super) fn one_hot<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let which = network.input(node, inputs, 0)?;
    let depth = inputs.number(1)?.filter(|d| *d >= 1.0);
    let depth = depth.ok_or(NodeFault::NoInput(1))? as i64;
    network
        .fold_budget
        .spend(usize::try_from(depth).unwrap_or(usize::MAX))?;
    let values = inputs.constant(2)?.ok_or(NodeFault::NoInput(2))?;
    let Ok([off, on]) = <[f32; 2]>::try_from(values.to_floats()) else {
        return unsupported("expected two values");
    };
    let numbers = (&values.values).into();
    let along = axis(node.integer("axis").unwrap_or(-1), which.dims().len() + 1)?;
    let mut dims = which.dims().to_vec();
    dims.insert(along, 1);
    let which = network.reshaped(node, &which, &dims)?;
    // An index may be counted from the end.
    let negative = network.with_number(node, Binary::Less, &which, 0.0, false)?;
    let negative = network.with_number(node, Binary::Mul, &negative, depth as f32, false)?;
    let which = network.pair(node, Binary::Add, &which, &negative)?;
    let mut places = Constant::integers((0..depth).collect());
    places.dims = vec![1; dims.len()];
    places.dims[along] = depth as usize;
    let hot = network.with(node, Binary::Equal, &which, &places, false)?;
    let on = network.operand(node, &Constant::float(on).into())?;
    let made = network.where_else(node, &hot, &on, off)?;
    Ok(made.typed(numbers))
}
