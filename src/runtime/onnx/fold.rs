//! Nodes whose inputs are constants, computed while loading: shapes, axes and laid-out weights.

use super::error::NodeFault;
use super::node::{Node, axis};
use super::tensor::{Constant, Values};

/// The most values that a folded node may make; shapes and weights need no more.
const MAX_FOLDED: usize = 1 << 28;

/// Returns the answer of a node from its constant inputs, or `None` if its operator is not
/// folded.
pub(super) fn fold(
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> Option<Result<Constant, NodeFault>> {
    let input = |n: usize| {
        inputs
            .get(n)
            .copied()
            .flatten()
            .ok_or(NodeFault::NoInput(n))
    };
    let first = || input(0).cloned();
    Some(match node.operator()? {
        "Identity" | "Dropout" => first(),
        "Cast" => first().and_then(|c| cast(c, node)),
        "Reshape" => first().and_then(|c| reshaped(c, input(1)?)),
        "Flatten" => first().and_then(|c| flat(c, node.integer("axis").unwrap_or(1))),
        "Squeeze" => first().and_then(|c| squeezed(c, axes(node, inputs))),
        "Unsqueeze" => first().and_then(|c| unsqueezed(c, &axes(node, inputs).unwrap_or_default())),
        "Transpose" => first().and_then(|c| transposed(&c, node.integers("perm"))),
        "Gather" => first().and_then(|c| gathered(&c, input(1)?, node.integer("axis"))),
        "Slice" => first().and_then(|c| sliced(&c, node, inputs)),
        "Concat" => joined(inputs, node.integer("axis").unwrap_or_default()),
        "ConstantOfShape" => first().and_then(|c| filled(&c, node)),
        "Add" | "Sub" | "Mul" | "Div" => input(0).and_then(|a| arithmetic(node, a, input(1)?)),
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

/// Returns the dimensions that a `Reshape` to `target` makes of `dims`: 0 keeps a dimension,
/// -1 takes what is left.
///
/// # Errors
/// The number of values would change.
pub(super) fn reshape_dims(dims: &[usize], target: &[i64]) -> Result<Vec<usize>, NodeFault> {
    let wrong = || NodeFault::Shapes(format!("{dims:?} cannot become {target:?}"));
    let all: usize = dims.iter().product();
    let kept = target.iter().enumerate().map(|(at, &d)| match d {
        0 => dims.get(at).copied().ok_or_else(wrong),
        -1 => Ok(1),
        d => usize::try_from(d).map_err(|_| wrong()),
    });
    let mut new: Vec<usize> = kept.collect::<Result<_, _>>()?;
    let known = new.iter().try_fold(1usize, |all, &d| all.checked_mul(d));
    let known = known.filter(|k| *k > 0).ok_or_else(wrong)?;
    let mut open = target.iter().enumerate().filter(|(_, d)| **d == -1);
    match (open.next(), open.next()) {
        (None, _) if known == all => Ok(new),
        (Some((at, _)), None) if all.is_multiple_of(known) => {
            new[at] = all / known;
            Ok(new)
        }
        _ => Err(wrong()),
    }
}

fn with_dims(constant: Constant, dims: Vec<usize>) -> Constant {
    Constant { dims, ..constant }
}

fn reshaped(constant: Constant, target: &Constant) -> Result<Constant, NodeFault> {
    let target = target.as_integers().ok_or_else(|| integers("shape"))?;
    let dims = reshape_dims(&constant.dims, target)?;
    Ok(with_dims(constant, dims))
}

fn flat(constant: Constant, at: i64) -> Result<Constant, NodeFault> {
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

fn integers(what: &str) -> NodeFault {
    NodeFault::Shapes(format!("its {what} is no tensor of integers"))
}

fn squeezed(constant: Constant, axes: Option<Vec<i64>>) -> Result<Constant, NodeFault> {
    let dims = squeeze_dims(&constant.dims, axes.as_deref())?;
    Ok(with_dims(constant, dims))
}

/// Returns `dims` without the axes, or without all of size 1 where none are named.
///
/// # Errors
/// An axis is not there or not of size 1.
pub(super) fn squeeze_dims(dims: &[usize], axes: Option<&[i64]>) -> Result<Vec<usize>, NodeFault> {
    let gone: Vec<usize> = match axes {
        Some(axes) => axes
            .iter()
            .map(|a| axis(*a, dims.len()))
            .collect::<Result<_, _>>()?,
        None => (0..dims.len()).filter(|&a| dims[a] == 1).collect(),
    };
    if let Some(wrong) = gone.iter().find(|&&a| dims[a] != 1) {
        let why = format!("axis {wrong} of {dims:?} is not of size 1");
        return Err(NodeFault::Shapes(why));
    }
    let kept = (0..dims.len()).filter(|a| !gone.contains(a));
    Ok(kept.map(|a| dims[a]).collect())
}

fn unsqueezed(constant: Constant, axes: &[i64]) -> Result<Constant, NodeFault> {
    let dims = unsqueeze_dims(&constant.dims, axes)?;
    Ok(with_dims(constant, dims))
}

/// Returns `dims` with a dimension of size 1 at each of the axes of the answer.
///
/// # Errors
/// An axis is not there, or named twice.
pub(super) fn unsqueeze_dims(dims: &[usize], axes: &[i64]) -> Result<Vec<usize>, NodeFault> {
    let rank = dims.len() + axes.len();
    let mut new = vec![None; rank];
    for &written in axes {
        let at = axis(written, rank)?;
        if new[at].replace(1).is_some() {
            let why = format!("axis {written} is named twice");
            return Err(NodeFault::Shapes(why));
        }
    }
    let mut old = dims.iter().copied();
    Ok(new
        .into_iter()
        .filter_map(|d| d.or_else(|| old.next()))
        .collect())
}

fn cast(constant: Constant, node: Node<'_>) -> Result<Constant, NodeFault> {
    let values = match (node.integer("to").unwrap_or_default(), constant.values) {
        (1 | 10 | 11 | 16, Values::Integers(v)) => {
            Values::Floats(v.into_iter().map(|v| v as f32).collect())
        }
        (2..=7 | 12 | 13, Values::Floats(v)) => {
            Values::Integers(v.into_iter().map(|v| v as i64).collect())
        }
        (2..=7 | 12 | 13, Values::Booleans(v)) => {
            Values::Integers(v.into_iter().map(i64::from).collect())
        }
        (1 | 10 | 11 | 16, values @ Values::Floats(_))
        | (2..=7 | 12 | 13, values @ Values::Integers(_)) => values,
        (to, _) => {
            return Err(NodeFault::Attribute {
                name: "to",
                expected: format!("a type of floats or integers, found {to}"),
            });
        }
    };
    let dims = constant.dims;
    Ok(Constant { dims, values })
}

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

fn transposed(constant: &Constant, order: Option<&[i64]>) -> Result<Constant, NodeFault> {
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

fn gathered(from: &Constant, which: &Constant, along: Option<i64>) -> Result<Constant, NodeFault> {
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

fn bounded(a: usize, b: usize) -> Result<(), NodeFault> {
    match a.checked_mul(b) {
        Some(count) if count <= MAX_FOLDED => Ok(()),
        _ => Err(NodeFault::Shapes(format!("{a} × {b} values are too many"))),
    }
}

/// Starts, ends, axes and steps of a `Slice`: attributes before opset 10, inputs after.
fn sliced(
    from: &Constant,
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> Result<Constant, NodeFault> {
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
    let mut positions: Vec<Vec<usize>> = from.dims.iter().map(all).collect();
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        return Err(NodeFault::Shapes(
            "starts, ends, axes and steps differ in number".into(),
        ));
    }
    for (((&start, &end), &along), &step) in starts.iter().zip(&ends).zip(&axes).zip(&steps) {
        let along = axis(along, from.dims.len())?;
        positions[along] = slice(from.dims[along], start, end, step)?;
    }
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

fn joined(inputs: &[Option<&Constant>], along: i64) -> Result<Constant, NodeFault> {
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

/// Returns the dimensions of tensors joined along an axis.
///
/// # Errors
/// Other dimensions differ.
pub(super) fn concat_dims(parts: &[&[usize]], along: usize) -> Result<Vec<usize>, NodeFault> {
    let first = parts[0];
    let alike = |p: &&[usize]| {
        p.len() == first.len() && (0..p.len()).all(|a| a == along || p[a] == first[a])
    };
    if let Some(other) = parts.iter().find(|p| !alike(p)) {
        let why = format!("{first:?} and {other:?} cannot be joined along axis {along}");
        return Err(NodeFault::Shapes(why));
    }
    let mut dims = first.to_vec();
    dims[along] = parts.iter().map(|p| p[along]).sum();
    Ok(dims)
}

fn filled(shape: &Constant, node: Node<'_>) -> Result<Constant, NodeFault> {
    let shape = shape.as_integers().ok_or_else(|| integers("shape"))?;
    let dims = shape.iter().map(|&d| usize::try_from(d));
    let dims: Vec<usize> = dims
        .collect::<Result<_, _>>()
        .map_err(|_| NodeFault::Shapes(format!("{shape:?} is no shape")))?;
    let count = dims.iter().try_fold(1usize, |all, &d| all.checked_mul(d));
    bounded(count.unwrap_or(usize::MAX), 1)?;
    let count = count.unwrap_or_default();
    let value = node.attribute("value").and_then(|a| a.t.as_ref());
    let value = value.map(|t| Constant::read(t, None)).transpose();
    let value = value.map_err(|why| NodeFault::Shapes(why.to_string()))?;
    let values = match value.map(|c| c.values) {
        None => Values::Floats(vec![0.0; count]),
        Some(Values::Floats(v)) => Values::Floats(vec![v.first().copied().unwrap_or(0.0); count]),
        Some(Values::Integers(v)) => Values::Integers(vec![v.first().copied().unwrap_or(0); count]),
        Some(Values::Booleans(v)) => {
            Values::Booleans(vec![v.first().copied().unwrap_or(false); count])
        }
    };
    Ok(Constant { dims, values })
}

/// Computes with shapes: operands of equal dimensions, or one of them a single value.
fn arithmetic(node: Node<'_>, a: &Constant, b: &Constant) -> Result<Constant, NodeFault> {
    let (n, m) = (a.values.len(), b.values.len());
    let empty = n == 0 || m == 0;
    if a.dims != b.dims && (empty || n != 1 && m != 1) {
        let why = format!("{:?} and {:?} are not of one shape", a.dims, b.dims);
        return Err(NodeFault::Shapes(why));
    }
    let dims = if n >= m {
        a.dims.clone()
    } else {
        b.dims.clone()
    };
    let pairs = (0..n.max(m)).map(|i| (i.min(n - 1), i.min(m - 1)));
    let operator = node.operator().unwrap_or_default();
    let values = match (&a.values, &b.values) {
        (Values::Floats(a), Values::Floats(b)) => {
            let values = pairs.map(|(i, j)| match operator {
                "Add" => a[i] + b[j],
                "Sub" => a[i] - b[j],
                "Mul" => a[i] * b[j],
                _ => a[i] / b[j],
            });
            Values::Floats(values.collect())
        }
        (Values::Integers(a), Values::Integers(b)) => {
            let values = pairs.map(|(i, j)| match operator {
                "Add" => a[i].checked_add(b[j]),
                "Sub" => a[i].checked_sub(b[j]),
                "Mul" => a[i].checked_mul(b[j]),
                _ => a[i].checked_div(b[j]),
            });
            let values: Option<Vec<i64>> = values.collect();
            let overflow = || NodeFault::Shapes("its integers leave their range".into());
            Values::Integers(values.ok_or_else(overflow)?)
        }
        _ => {
            return Err(NodeFault::Shapes(
                "its inputs are of different types".into(),
            ));
        }
    };
    Ok(Constant { dims, values })
}
