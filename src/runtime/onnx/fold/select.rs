//! Folded nodes whose values are some of their inputs' in another order.

use crate::onnx::error::NodeFault;
use crate::onnx::node::{Node, axis};
use crate::onnx::shapes::{bounded, concat_dims, integers};
use crate::onnx::tensor::{Constant, Values};

/// Returns the values at `indices`, which lie inside, with `dims`.
pub(super) fn picked(from: &Constant, dims: Vec<usize>, indices: &[usize]) -> Constant {
    let values = match &from.values {
        Values::Floats(v) => Values::Floats(indices.iter().map(|&i| v[i]).collect()),
        Values::Integers(v) => Values::Integers(indices.iter().map(|&i| v[i]).collect()),
        Values::Booleans(v) => Values::Booleans(indices.iter().map(|&i| v[i]).collect()),
    };
    Constant { dims, values }
}

/// Returns the distance in memory between neighbours along each dimension.
pub(super) fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for at in (1..dims.len()).rev() {
        strides[at - 1] = strides[at] * dims[at];
    }
    strides
}

/// Returns the position in memory of each value of an answer, from the positions along each
/// dimension.
pub(super) fn indices(positions: &[Vec<usize>], strides: &[usize]) -> Vec<usize> {
    let start = vec![0usize];
    positions
        .iter()
        .zip(strides)
        .fold(start, |all, (along, stride)| {
            let next = |base: usize| along.iter().map(move |p| base + p * stride);
            all.into_iter().flat_map(next).collect()
        })
}

/// Returns the axes of a transposition: the given axes, or all in reverse.
///
/// # Errors
/// They do not contain each axis once.
pub(in crate::onnx) fn order(rank: usize, order: Option<&[i64]>) -> Result<Vec<usize>, NodeFault> {
    let order: Vec<usize> = match order {
        Some(order) => order
            .iter()
            .map(|a| axis(*a, rank))
            .collect::<Result<_, _>>()?,
        None => (0..rank).rev().collect(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..rank) {
        let expected = format!("each of {rank} axes once, found {order:?}");
        return Err(NodeFault::Attribute {
            name: "perm",
            expected,
        });
    }
    Ok(order)
}

pub(super) fn transposed(constant: &Constant, axes: Option<&[i64]>) -> Result<Constant, NodeFault> {
    let axes = order(constant.dims.len(), axes)?;
    Ok(permuted(constant, &axes))
}

pub(super) fn gathered(
    from: &Constant,
    which: &Constant,
    along: Option<i64>,
) -> Result<Constant, NodeFault> {
    let along = axis(along.unwrap_or(0), from.dims.len())?;
    let size = from.dims[along];
    let which_dims = which.dims.clone();
    let which = which.as_integers().ok_or_else(|| integers("index"))?;
    let which = which.iter().map(|&i| axis(i, size));
    let which: Vec<usize> = which.collect::<Result<_, _>>()?;
    let others: usize = from.dims.iter().product::<usize>() / size.max(1);
    bounded(which.len(), others)?;
    let all = |d: &usize| (0..*d).collect();
    let mut positions: Vec<Vec<usize>> = from.dims.iter().map(all).collect();
    positions[along] = which;
    let (before, after) = (&from.dims[..along], &from.dims[along + 1..]);
    let dims = [before, &which_dims, after].concat();
    Ok(picked(
        from,
        dims,
        &indices(&positions, &strides(&from.dims)),
    ))
}

/// The positions of one axis that a `Slice` takes.
pub(in crate::onnx) struct Taken {
    pub(in crate::onnx) axis: usize,
    pub(in crate::onnx) positions: Vec<usize>,
    pub(in crate::onnx) step: isize,
}

/// Reads starts, ends, axes and steps of a `Slice` of `dims`: attributes before opset 10,
/// inputs after.
pub(in crate::onnx) fn taken(
    dims: &[usize],
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> Result<Vec<Taken>, NodeFault> {
    let part = |at: usize, name: &str| {
        let given = inputs
            .get(at)
            .copied()
            .flatten()
            .and_then(Constant::as_integers);
        node.integers(name).or(given).map(<[i64]>::to_vec)
    };
    let starts = part(1, "starts").ok_or(NodeFault::NoInput(1))?;
    let ends = part(2, "ends").ok_or(NodeFault::NoInput(2))?;
    let axes = part(3, "axes").unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = part(4, "steps").unwrap_or_else(|| vec![1; starts.len()]);
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        return Err(NodeFault::Shapes(
            "starts, ends, axes and steps differ in number".into(),
        ));
    }
    let each = starts.iter().zip(&ends).zip(&axes).zip(&steps);
    let each = each.map(|(((&start, &end), &along), &step)| {
        let axis = axis(along, dims.len())?;
        Ok(Taken {
            axis,
            positions: slice(dims[axis], start, end, step)?,
            step: isize::try_from(step).unwrap_or(1),
        })
    });
    each.collect()
}

pub(super) fn sliced(
    from: &Constant,
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> Result<Constant, NodeFault> {
    let all = |d: &usize| (0..*d).collect();
    let mut positions: Vec<Vec<usize>> = from.dims.iter().map(all).collect();
    for taken in taken(&from.dims, node, inputs)? {
        positions[taken.axis] = taken.positions;
    }
    let dims = positions.iter().map(Vec::len).collect();
    Ok(picked(
        from,
        dims,
        &indices(&positions, &strides(&from.dims)),
    ))
}

/// Returns `count` positions from `first` on along an axis.
pub(super) fn run(from: &Constant, along: usize, first: usize, count: usize) -> Constant {
    let all = |d: &usize| (0..*d).collect();
    let mut positions: Vec<Vec<usize>> = from.dims.iter().map(all).collect();
    positions[along] = (first..first + count).collect();
    let dims = positions.iter().map(Vec::len).collect();
    picked(from, dims, &indices(&positions, &strides(&from.dims)))
}

/// Returns the constant repeated to `dims`, as in NumPy. It must fit.
pub(super) fn expanded(from: &Constant, dims: &[usize]) -> Constant {
    let missing = dims.len().saturating_sub(from.dims.len());
    let strides = strides(&from.dims);
    let stride = |at: usize| match at.checked_sub(missing) {
        Some(old) if from.dims[old] > 1 => strides[old],
        _ => 0,
    };
    let strides: Vec<usize> = (0..dims.len()).map(stride).collect();
    let positions: Vec<Vec<usize>> = dims.iter().map(|&d| (0..d).collect()).collect();
    picked(from, dims.to_vec(), &indices(&positions, &strides))
}

/// Returns the constant with its axes in the order `axes`.
pub(in crate::onnx) fn permuted(from: &Constant, axes: &[usize]) -> Constant {
    let old = strides(&from.dims);
    let dims: Vec<usize> = axes.iter().map(|&a| from.dims[a]).collect();
    let positions: Vec<Vec<usize>> = dims.iter().map(|&d| (0..d).collect()).collect();
    let strides: Vec<usize> = axes.iter().map(|&a| old[a]).collect();
    picked(from, dims, &indices(&positions, &strides))
}

/// Returns the positions of `start..end` in steps along a dimension, ends counted and clamped
/// as in NumPy.
fn slice(size: usize, start: i64, end: i64, step: i64) -> Result<Vec<usize>, NodeFault> {
    let size = size as i64;
    let from_start = |v: i64| if v < 0 { v.saturating_add(size) } else { v };
    let positions: Vec<i64> = match step {
        1.. => {
            let from = from_start(start).clamp(0, size);
            let to = from_start(end).clamp(0, size);
            (from..to).step_by(step as usize).collect()
        }
        ..=-1 => {
            let from = from_start(start).clamp(-1, size - 1);
            let to = from_start(end).clamp(-1, size - 1);
            let by = step.unsigned_abs() as usize;
            (to + 1..=from).rev().step_by(by).collect()
        }
        0 => return Err(NodeFault::Shapes("its step is 0".into())),
    };
    Ok(positions.into_iter().map(|p| p as usize).collect())
}

pub(super) fn joined(inputs: &[Option<&Constant>], along: i64) -> Result<Constant, NodeFault> {
    let parts: Option<Vec<&Constant>> = inputs.iter().copied().collect();
    let parts = parts
        .filter(|p| !p.is_empty())
        .ok_or(NodeFault::NoInput(0))?;
    let along = axis(along, parts[0].dims.len())?;
    let dims = concat_dims(
        &parts.iter().map(|p| p.dims.as_slice()).collect::<Vec<_>>(),
        along,
    )?;
    let joined = dims.iter().try_fold(1usize, |all, &d| all.checked_mul(d));
    bounded(joined.unwrap_or(usize::MAX), 1)?;
    let outer: usize = dims[..along].iter().product();
    let run = |p: &Constant| p.dims[along..].iter().product::<usize>();
    macro_rules! join {
        ($kind:path) => {{
            let slices = parts.iter().map(|p| match &p.values {
                $kind(v) => Ok((&v[..], run(p))),
                _ => Err(NodeFault::Shapes("its inputs have different types".into())),
            });
            let slices = slices.collect::<Result<Vec<_>, _>>()?;
            let rows =
                (0..outer).flat_map(|row| slices.iter().map(move |(v, n)| &v[row * n..][..*n]));
            $kind(rows.flatten().copied().collect())
        }};
    }
    let values = match parts[0].values {
        Values::Floats(_) => join!(Values::Floats),
        Values::Integers(_) => join!(Values::Integers),
        Values::Booleans(_) => join!(Values::Booleans),
    };
    Ok(Constant { dims, values })
}
