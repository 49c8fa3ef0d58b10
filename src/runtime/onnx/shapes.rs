//! Dimensions after a node, and bounds on them.

use super::error::NodeFault;
use super::node::{Node, axis};
use super::tensor::Constant;

/// The most values that a folded node may make; shapes and weights need no more.
const MAX_FOLDED: usize = 1 << 28;

/// Returns the dimensions that a `Reshape` to `target` makes of `dims`: 0 keeps a dimension, -1
/// takes the rest. With `zeros_stay`, 0 is a size.
///
/// # Errors
/// The number of values would change.
pub(super) fn reshape_dims(
    dims: &[usize],
    target: &[i64],
    zeros_stay: bool,
) -> Result<Vec<usize>, NodeFault> {
    let wrong = || NodeFault::Shapes(format!("{dims:?} cannot become {target:?}"));
    let all: usize = dims.iter().product();
    let kept = target.iter().enumerate().map(|(at, &d)| match d {
        0 if !zeros_stay => dims.get(at).copied().ok_or_else(wrong),
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

/// Returns `dims` without the axes, or without all axes of size 1 if no axes are given.
///
/// # Errors
/// An axis does not exist or is not of size 1.
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

/// Returns `dims` with a dimension of size 1 at each of the axes of the answer.
///
/// # Errors
/// An axis does not exist, or appears twice.
pub(super) fn unsqueeze_dims(dims: &[usize], axes: &[i64]) -> Result<Vec<usize>, NodeFault> {
    let rank = dims.len() + axes.len();
    let mut new = vec![None; rank];
    for &written in axes {
        let at = axis(written, rank)?;
        if new[at].replace(1).is_some() {
            let why = format!("axis {written} appears twice");
            return Err(NodeFault::Shapes(why));
        }
    }
    let mut old = dims.iter().copied();
    Ok(new
        .into_iter()
        .filter_map(|d| d.or_else(|| old.next()))
        .collect())
}

/// Returns the dimensions of tensors joined along an axis.
///
/// # Errors
/// Other dimensions differ.
pub(super) fn concat_dims(parts: &[&[usize]], along: usize) -> Result<Vec<usize>, NodeFault> {
    let first = parts.first().ok_or(NodeFault::NoInput(0))?;
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

/// Returns whether a `Reshape` treats 0 as a size.
pub(super) fn reshape_kept(node: Node<'_>) -> bool {
    node.integer("allowzero") == Some(1)
}

/// Returns the dimensions that two tensors are repeated to, as in NumPy.
///
/// # Errors
/// They do not fit.
pub(super) fn broadcast_dims(a: &[usize], b: &[usize]) -> Result<Vec<usize>, NodeFault> {
    let rank = a.len().max(b.len());
    let size = |dims: &[usize], at: usize| match (at + dims.len()).checked_sub(rank) {
        Some(at) => dims[at],
        None => 1,
    };
    let each = (0..rank).map(|at| match (size(a, at), size(b, at)) {
        (a, b) if a == b || b == 1 => Some(a),
        (1, b) => Some(b),
        _ => None,
    });
    let wrong = || NodeFault::Shapes(format!("{a:?} and {b:?} cannot be broadcast"));
    each.collect::<Option<_>>().ok_or_else(wrong)
}

/// Returns integers as sizes.
///
/// # Errors
/// They are of another type, or negative.
pub(super) fn sizes(constant: &Constant) -> Result<Vec<usize>, NodeFault> {
    let written = constant.as_integers().ok_or_else(|| integers("shape"))?;
    let sizes = written.iter().map(|&d| usize::try_from(d));
    let wrong = |_| NodeFault::Shapes(format!("{written:?} are not valid sizes"));
    sizes.collect::<Result<_, _>>().map_err(wrong)
}

/// Returns the axis of a Fourier transform, which is an input from opset 20 on.
pub(super) fn transformed_axis(node: Node<'_>, given: Option<&[i64]>) -> i64 {
    let default = if node.opset < 20 { 1 } else { -2 };
    let written = given.and_then(|axes| axes.first().copied());
    written.or_else(|| node.integer("axis")).unwrap_or(default)
}

/// Returns the axes that a node reduces, ascending: the given axes, or all. Returns `None` if the
/// node leaves its input unchanged.
///
/// # Errors
/// An axis does not exist.
pub(super) fn reduced_axes(
    node: Node<'_>,
    written: Option<Vec<i64>>,
    rank: usize,
) -> Result<Option<Vec<usize>>, NodeFault> {
    let written = written.unwrap_or_default();
    if written.is_empty() {
        let stays = node.integer("noop_with_empty_axes") == Some(1);
        return Ok((!stays).then(|| (0..rank).collect()));
    }
    let over = written.iter().map(|a| axis(*a, rank));
    let mut over: Vec<usize> = over.collect::<Result<_, _>>()?;
    over.sort_unstable();
    over.dedup();
    Ok(Some(over))
}

/// Returns the axes over which `MeanVarianceNormalization` takes the mean, ascending. The default
/// includes the samples of a batch.
///
/// # Errors
/// An axis does not exist.
pub(super) fn normalised_axes(node: Node<'_>, rank: usize) -> Result<Vec<usize>, NodeFault> {
    let written = node.integers("axes").unwrap_or(&[0, 2, 3]);
    let over = reduced_axes(node, Some(written.to_vec()), rank)?;
    Ok(over.unwrap_or_else(|| (0..rank).collect()))
}

/// Returns the sizes of the parts of a `Split` along an axis of `size`: an attribute before opset
/// 13, an input later; equal parts if neither is given.
///
/// # Errors
/// The sizes do not add up to `size`.
pub(super) fn split_sizes(
    node: Node<'_>,
    given: Option<&Constant>,
    size: usize,
) -> Result<Vec<usize>, NodeFault> {
    let written = given
        .and_then(Constant::as_integers)
        .or(node.integers("split"));
    let parts: Vec<usize> = match written {
        Some(written) => sizes(&Constant::integers(written.to_vec()))?,
        None => {
            let count = node
                .integer("num_outputs")
                .and_then(|n| usize::try_from(n).ok());
            let count = count.unwrap_or(node.outputs().len()).clamp(1, size.max(1));
            let each = size.div_ceil(count);
            let part = |n: usize| each.min(size.saturating_sub(n * each));
            (0..count).map(part).collect()
        }
    };
    let all = parts.iter().fold(0usize, |all, p| all.saturating_add(*p));
    match all == size {
        true => Ok(parts),
        false => Err(NodeFault::Shapes(format!(
            "parts of {parts:?} do not add up to {size}"
        ))),
    }
}

pub(super) fn bounded(a: usize, b: usize) -> Result<(), NodeFault> {
    match a.checked_mul(b) {
        Some(count) if count <= MAX_FOLDED => Ok(()),
        _ => Err(NodeFault::Shapes(format!(
            "{a} × {b} values are too many to fold"
        ))),
    }
}

pub(super) fn integers(what: &str) -> NodeFault {
    NodeFault::Shapes(format!("its {what} is not a tensor of integers"))
}
