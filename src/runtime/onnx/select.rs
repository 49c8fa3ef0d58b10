//! Folded nodes whose values are some of their inputs' in another order.

use super::error::NodeFault;
use super::node::{Node, axis};
use super::shapes::{bounded, concat_dims, integers};
use super::tensor::{Constant, Values};

/// Returns the values at `indices`, which lie inside, with `dims`.
fn picked(from: &Constant, dims: Vec<usize>, indices: &[usize]) -> Constant {
    let values = match &from.values {
        Values::Floats(v) => Values::Floats(indices.iter().map(|&i| v[i]).collect()),
        Values::Integers(v) => Values::Integers(indices.iter().map(|&i| v[i]).collect()),
        Values::Booleans(v) => Values::Booleans(indices.iter().map(|&i| v[i]).collect()),
    };
    Constant { dims, values }
}

/// Returns the distance in memory between neighbours along each dimension.
fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for at in (1..dims.len()).rev() {
        strides[at - 1] = strides[at] * dims[at];
    }
    strides
}

/// Returns where each value of an answer lies, given the positions along each dimension.
fn indices(positions: &[Vec<usize>], strides: &[usize]) -> Vec<usize> {
    let start = vec![0usize];
    positions
        .iter()
        .zip(strides)
        .fold(start, |all, (along, stride)| {
            let next = |base: usize| along.iter().map(move |p| base + p * stride);
            all.into_iter().flat_map(next).collect()
        })
}

pub(super) fn transposed(
    constant: &Constant,
    order: Option<&[i64]>,
) -> Result<Constant, NodeFault> {
    let rank = constant.dims.len();
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
    let from = strides(&constant.dims);
    let dims: Vec<usize> = order.iter().map(|&a| constant.dims[a]).collect();
    let positions: Vec<Vec<usize>> = dims.iter().map(|&d| (0..d).collect()).collect();
    let strides: Vec<usize> = order.iter().map(|&a| from[a]).collect();
    Ok(picked(constant, dims, &indices(&positions, &strides)))
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

/// Returns the positions that a `Slice` takes along each dimension. Starts, ends, axes and steps
/// are attributes before opset 10, inputs after.
pub(super) fn slices(
    dims: &[usize],
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> Result<Vec<Vec<usize>>, NodeFault> {
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
    let all = |d: &usize| (0..*d).collect();
    let mut positions: Vec<Vec<usize>> = dims.iter().map(all).collect();
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        return Err(NodeFault::Shapes(
            "starts, ends, axes and steps differ in number".into(),
        ));
    }
    for (((&start, &end), &along), &step) in starts.iter().zip(&ends).zip(&axes).zip(&steps) {
        let along = axis(along, dims.len())?;
        positions[along] = slice(dims[along], start, end, step)?;
    }
    Ok(positions)
}

pub(super) fn sliced(
    from: &Constant,
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> Result<Constant, NodeFault> {
    let positions = slices(&from.dims, node, inputs)?;
    let dims = positions.iter().map(Vec::len).collect();
    Ok(picked(
        from,
        dims,
        &indices(&positions, &strides(&from.dims)),
    ))
}

/// Returns the positions of `start..end` in steps along a dimension, ends counted and clamped
/// as in NumPy.
fn slice(size: usize, start: i64, end: i64, step: i64) -> Result<Vec<usize>, NodeFault> {
    let size = size as i64;
    let from_start = |v: i64| if v < 0 { v.saturating_add(size) } else { v };
    let positions: Vec<i64> = match step {
        1.. => {
            let (from, to) = (
                from_start(start).clamp(0, size),
                from_start(end).clamp(0, size),
            );
            (from..to).step_by(step as usize).collect()
        }
        ..=-1 => {
            let from = from_start(start).clamp(-1, size - 1);
            let to = from_start(end).clamp(-1, size - 1);
            let by = step.unsigned_abs() as usize;
            (to + 1..=from).rev().step_by(by).collect()
        }
        0 => return Err(NodeFault::Shapes("a step of 0".into())),
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
    let outer: usize = dims[..along].iter().product();
    let run = |p: &Constant| p.dims[along..].iter().product::<usize>();
    macro_rules! join {
        ($kind:path) => {{
            let slices = parts.iter().map(|p| match &p.values {
                $kind(v) => Ok((v.as_slice(), run(p))),
                _ => Err(NodeFault::Shapes(
                    "its inputs are of different types".into(),
                )),
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
