//! Nodes whose inputs are constants, computed while loading: shapes, axes, masks and laid-out
//! weights. Integers stay exact.

mod elementwise;
mod growth;
mod inputs;
mod made;
mod norms;
mod quantised;
mod reduce;
mod select;

use super::error::NodeFault;
use super::indices;
use super::kinds;
use super::node::{Node, axis};
use super::shapes::{
    integers, reshape_dims, reshape_kept, split_sizes, squeeze_dims, unsqueeze_dims,
};
use super::tensor::Constant;
use inputs::{FoldedConstant, input};
use select::{gathered, joined, picked, run, sliced, transposed};

pub(super) use elementwise::{by_zero, cast};
pub(super) use growth::growth;
pub(super) use made::{eye, kept};
pub(super) use quantised::{check_scales, dequantised, quantised};
pub(super) use select::{order, permuted, taken};

/// Returns the answers of a node from its constant inputs, or `None` if its operator is not
/// folded.
pub(super) fn fold(
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> Option<Result<Vec<Constant>, NodeFault>> {
    match node.operator()? {
        "Split" => return Some(split(node, inputs)),
        "BatchNormalization" if node.integer("spatial") != Some(0) => {
            return Some(norms::batch_norm(node, inputs));
        }
        _ => {}
    }
    let values = values(node, inputs).or_else(|| arranged(node, inputs));
    Some(values?.map(|constant| vec![constant]))
}

/// Folds nodes that compute with values.
fn values(node: Node<'_>, inputs: &[Option<&Constant>]) -> Option<FoldedConstant> {
    let input = |n| input(inputs, n);
    let operator = node.operator()?;
    if let Some(kind) = kinds::binary(operator) {
        return Some(elementwise::many(kind, node, inputs));
    }
    if let Some(kind) = kinds::unary(operator) {
        return input(0).map(|x| elementwise::unary(kind, x)).transpose();
    }
    if let Some(kind) = kinds::reduction(operator) {
        return Some(input(0).and_then(|x| reduce::reduced(kind, x, node, inputs)));
    }
    Some(match operator {
        "Cast" => input(0).and_then(|c| elementwise::cast(c, node.integer("to").unwrap_or(0))),
        "CastLike" => input(0).and_then(|c| elementwise::cast_like(c, input(1)?)),
        "Where" => elementwise::chosen(inputs),
        "Clip" => input(0).and_then(|x| elementwise::clipped(x, node, inputs)),
        "CumSum" | "CumProd" => input(0).and_then(|x| reduce::running(x, input(1)?, node)),
        "DequantizeLinear" => quantised::dequantised(node, inputs),
        "Range" => made::range(inputs),
        "ConstantOfShape" => input(0).and_then(|c| made::filled(c, node)),
        "NonZero" => input(0).map(made::nonzero),
        "OneHot" => made::one_hot(node, inputs),
        "Trilu" => input(0).and_then(|c| made::triangle(c, node, inputs)),
        _ => return None,
    })
}

/// Folds nodes that bring values into another order or shape.
fn arranged(node: Node<'_>, inputs: &[Option<&Constant>]) -> Option<FoldedConstant> {
    let input = |n| input(inputs, n);
    let first = || input(0).cloned();
    Some(match node.operator()? {
        "Identity" | "Dropout" => first(),
        "Reshape" => first().and_then(|c| reshaped(c, input(1)?, reshape_kept(node))),
        "Flatten" => first().and_then(|c| flat(c, node.integer("axis").unwrap_or(1))),
        "Squeeze" => first().and_then(|c| squeezed(c, axes(node, inputs))),
        "Unsqueeze" => first().and_then(|c| unsqueezed(c, &axes(node, inputs).unwrap_or_default())),
        "Transpose" => first().and_then(|c| transposed(&c, node.integers("perm"))),
        "Gather" => first().and_then(|c| gathered(&c, input(1)?, node.integer("axis"))),
        "GatherElements" => input(0).and_then(|c| {
            let (dims, at) = indices::elements(&c.dims, input(1)?, node.integer("axis"))?;
            Ok(picked(c, dims, &at))
        }),
        "GatherND" => input(0).and_then(|c| {
            let batch = node.integer("batch_dims").unwrap_or(0);
            let (dims, at) = indices::nd(&c.dims, input(1)?, batch)?;
            Ok(picked(c, dims, &at))
        }),
        "ScatterElements" | "ScatterND" => scattered(node, inputs)?,
        "Slice" => first().and_then(|c| sliced(&c, node, inputs)),
        "Concat" => joined(inputs, node.integer("axis").unwrap_or_default()),
        "Expand" => input(0).and_then(|c| made::expand(c, input(1)?)),
        "Tile" => input(0).and_then(|c| made::tiled(c, input(1)?)),
        _ => return None,
    })
}

/// Returns the axes of a node: an attribute, and an input from opset 13 on.
pub(super) fn axes(node: Node<'_>, inputs: &[Option<&Constant>]) -> Option<Vec<i64>> {
    let written = node.integers("axes");
    let given = || {
        inputs
            .get(1)
            .copied()
            .flatten()
            .and_then(Constant::as_integers)
    };
    written.or_else(given).map(<[i64]>::to_vec)
}

fn with_dims(constant: Constant, dims: Vec<usize>) -> Constant {
    Constant { dims, ..constant }
}

fn reshaped(constant: Constant, target: &Constant, zeros_stay: bool) -> FoldedConstant {
    let target = target.as_integers().ok_or_else(|| integers("shape"))?;
    if constant.values.len() == 0 && target.iter().all(|d| *d >= 0) && target.contains(&0) {
        let dims = target.iter().map(|d| *d as usize).collect();
        return Ok(with_dims(constant, dims));
    }
    let dims = reshape_dims(&constant.dims, target, zeros_stay)?;
    Ok(with_dims(constant, dims))
}

fn flat(constant: Constant, at: i64) -> FoldedConstant {
    let rank = constant.dims.len();
    let at = if at == rank as i64 {
        rank
    } else {
        axis(at, rank)?
    };
    let dims = vec![
        constant.dims[..at].iter().product(),
        constant.dims[at..].iter().product(),
    ];
    Ok(with_dims(constant, dims))
}

fn squeezed(constant: Constant, axes: Option<Vec<i64>>) -> FoldedConstant {
    let dims = squeeze_dims(&constant.dims, axes.as_deref())?;
    Ok(with_dims(constant, dims))
}

fn unsqueezed(constant: Constant, axes: &[i64]) -> FoldedConstant {
    let dims = unsqueeze_dims(&constant.dims, axes)?;
    Ok(with_dims(constant, dims))
}

fn split(node: Node<'_>, inputs: &[Option<&Constant>]) -> Result<Vec<Constant>, NodeFault> {
    let from = input(inputs, 0)?;
    let along = axis(node.integer("axis").unwrap_or(0), from.dims.len())?;
    let given = inputs.get(1).copied().flatten();
    let sizes = split_sizes(node, given, from.dims[along])?;
    let firsts = sizes.iter().scan(0, |next, size| {
        *next += size;
        Some(*next - size)
    });
    let parts = firsts.zip(&sizes);
    Ok(parts
        .map(|(first, &count)| run(from, along, first, count))
        .collect())
}

/// Writes updates over values. Updates that are combined with them are not folded.
fn scattered(node: Node<'_>, inputs: &[Option<&Constant>]) -> Option<FoldedConstant> {
    if !matches!(node.text("reduction"), None | Some(b"none")) {
        return None;
    }
    let folded = || {
        let (data, which, updates) = (input(inputs, 0)?, input(inputs, 1)?, input(inputs, 2)?);
        let at = match node.operator() {
            Some("ScatterND") => indices::nd(&data.dims, which, 0)?,
            _ => indices::elements(&data.dims, which, node.integer("axis"))?,
        };
        if at.0 != updates.dims {
            let why = format!("updates of {:?} do not fit {:?}", updates.dims, at.0);
            return Err(NodeFault::Shapes(why));
        }
        let both = joined(&[Some(&flattened(data)), Some(&flattened(updates))], 0)?;
        let order = indices::overwritten(data.values.len(), &at.1);
        Ok(picked(&both, data.dims.clone(), &order))
    };
    Some(folded())
}

fn flattened(constant: &Constant) -> Constant {
    let dims = vec![constant.values.len()];
    with_dims(constant.clone(), dims)
}
