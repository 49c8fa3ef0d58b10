//! Dimensions after a node, and bounds on them.

use super::error::NodeFault;
use super::node::axis;

/// The most values that a folded node may make; shapes and weights need no more.
const MAX_FOLDED: usize = 1 << 28;

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

pub(super) fn bounded(a: usize, b: usize) -> Result<(), NodeFault> {
    match a.checked_mul(b) {
        Some(count) if count <= MAX_FOLDED => Ok(()),
        _ => Err(NodeFault::Shapes(format!("{a} × {b} values are too many"))),
    }
}

pub(super) fn integers(what: &str) -> NodeFault {
    NodeFault::Shapes(format!("its {what} is no tensor of integers"))
}
