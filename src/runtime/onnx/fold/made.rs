//! Folded nodes that make tensors out of shapes and numbers.

use super::inputs::{FoldedConstant, input};
use super::select::{expanded, indices, picked, strides};
use crate::onnx::error::NodeFault;
use crate::onnx::floats::Floats;
use crate::onnx::node::{Node, axis};
use crate::onnx::shapes::{bounded, broadcast_dims, integers, sizes};
use crate::onnx::tensor::{Constant, Values};

/// Folds `ConstantOfShape`.
pub(super) fn filled(shape: &Constant, node: Node<'_>) -> FoldedConstant {
    let dims = sizes(shape)?;
    let count = dims.iter().try_fold(1usize, |all, &d| all.checked_mul(d));
    bounded(count.unwrap_or(usize::MAX), 1)?;
    let count = count.unwrap_or_default();
    let value = node.attribute("value").and_then(|a| a.t.as_ref());
    let value = value.map(|t| Constant::read(t, None, None)).transpose();
    let value = value.map_err(|why| NodeFault::Shapes(why.to_string()))?;
    let values = match value.map(|c| c.values) {
        None => Values::Floats(Floats::filled(0.0, count)),
        Some(Values::Floats(v)) => {
            Values::Floats(Floats::filled(v.first().copied().unwrap_or(0.0), count))
        }
        Some(Values::Integers(v)) => {
            Values::Integers(vec![v.first().copied().unwrap_or(0); count].into())
        }
        Some(Values::Booleans(v)) => {
            Values::Booleans(vec![v.first().copied().unwrap_or(false); count])
        }
    };
    Ok(Constant { dims, values })
}

/// Folds `Range`.
pub(super) fn range(inputs: &[Option<&Constant>]) -> FoldedConstant {
    let [start, limit, delta] = [0, 1, 2].map(|n| input(inputs, n));
    let (start, limit, delta) = (start?, limit?, delta?);
    let whole = |c: &Constant| c.as_integers().and_then(|v| v.first().copied());
    let number = |c: &Constant| {
        let why = || NodeFault::Shapes("its bounds and its step are not single numbers".into());
        c.as_scalar().ok_or_else(why)
    };
    if delta.as_scalar() == Some(0.0) {
        return Err(NodeFault::Shapes("its step is 0".into()));
    }
    let count = |steps: f64| {
        let count = steps.ceil().max(0.0);
        let count = if count.is_finite() {
            count as usize
        } else {
            usize::MAX
        };
        bounded(count, 1).map(|()| count)
    };
    if let (Some(start), Some(limit), Some(delta)) = (whole(start), whole(limit), whole(delta)) {
        let n = count((limit as f64 - start as f64) / delta as f64)? as i64;
        let values = (0..n).map(|i| start.wrapping_add(i.wrapping_mul(delta)));
        return Ok(Constant::integers(values.collect()));
    }
    let (start, limit, delta) = (number(start)?, number(limit)?, number(delta)?);
    let n = count((f64::from(limit) - f64::from(start)) / f64::from(delta))?;
    Ok(Constant {
        dims: vec![n],
        values: Values::Floats((0..n).map(|i| start + i as f32 * delta).collect()),
    })
}

/// Folds `NonZero`: the positions, one row for each axis.
pub(super) fn nonzero(x: &Constant) -> Constant {
    let own = strides(&x.dims);
    let values = x.to_floats();
    let found: Vec<usize> = (0..values.len()).filter(|&i| values[i] != 0.0).collect();
    let row = |a: usize| found.iter().map(move |i| i / own[a] % x.dims[a]);
    let rows = (0..x.dims.len()).map(|a| row.clone()(a).map(|p| p as i64).collect::<Vec<_>>());
    Constant {
        dims: vec![x.dims.len(), found.len()],
        values: Values::Integers(rows.flatten().collect()),
    }
}

/// Folds `OneHot`.
pub(super) fn one_hot(node: Node<'_>, inputs: &[Option<&Constant>]) -> FoldedConstant {
    let (which, depth, off_on) = (input(inputs, 0)?, input(inputs, 1)?, input(inputs, 2)?);
    let depth = depth
        .as_scalar()
        .filter(|d| *d >= 1.0)
        .ok_or_else(|| integers("depth"))? as usize;
    bounded(which.values.len(), depth)?;
    let rank = which.dims.len() + 1;
    let along = axis(node.integer("axis").unwrap_or(-1), rank)?;
    let behind: usize = which.dims[along..].iter().product();
    let listed = which.to_floats();
    let hot = |i: usize| {
        let (row, position) = (i / behind / depth, i / behind % depth);
        let index = listed[row * behind + i % behind];
        let index = if index < 0.0 {
            index + depth as f32
        } else {
            index
        };
        usize::from(index == position as f32)
    };
    let mut dims = which.dims.clone();
    dims.insert(along, depth);
    if off_on.values.len() != 2 {
        return Err(NodeFault::Shapes("expected two values".into()));
    }
    let at: Vec<usize> = (0..which.values.len() * depth).map(hot).collect();
    Ok(picked(off_on, dims, &at))
}

/// Returns which values `Trilu` keeps of a tensor of `dims`.
pub(in crate::onnx) fn kept(dims: &[usize], shift: i64, upper: bool) -> Vec<bool> {
    let (rows, columns) = match dims {
        [.., rows, columns] => (*rows, *columns),
        _ => (1, 1),
    };
    let count = dims.iter().product();
    let keeps = |i: usize| {
        let (row, column) = ((i / columns % rows) as i64, (i % columns) as i64);
        match upper {
            true => column >= row.saturating_add(shift),
            false => column <= row.saturating_add(shift),
        }
    };
    (0..count).map(keeps).collect()
}

/// Folds `Trilu`.
pub(super) fn triangle(
    x: &Constant,
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> FoldedConstant {
    let shift = inputs
        .get(1)
        .copied()
        .flatten()
        .and_then(Constant::as_integers);
    let shift = shift.and_then(|k| k.first().copied()).unwrap_or(0);
    let kept = kept(&x.dims, shift, node.integer("upper").unwrap_or(1) != 0);
    macro_rules! triangle {
        ($values:expr, $zero:expr) => {
            kept.iter()
                .zip($values)
                .map(|(k, v)| if *k { *v } else { $zero })
                .collect()
        };
    }
    let values = match &x.values {
        Values::Floats(v) => Values::Floats(triangle!(v, 0.0)),
        Values::Integers(v) => Values::Integers(triangle!(v, 0)),
        Values::Booleans(v) => Values::Booleans(triangle!(v, false)),
    };
    let dims = x.dims.clone();
    Ok(Constant { dims, values })
}

/// Folds `EyeLike` of a matrix of `dims`. The type is the input's unless the node sets one.
pub(in crate::onnx) fn eye(
    node: Node<'_>,
    dims: &[usize],
    is_like_integers: bool,
) -> FoldedConstant {
    let &[rows, columns] = dims else {
        return Err(NodeFault::Shapes(format!("{dims:?} is not a matrix")));
    };
    bounded(rows, columns)?;
    let shift = node.integer("k").unwrap_or(0);
    let one = |i: usize| (i % columns) as i64 == ((i / columns) as i64).saturating_add(shift);
    let ones = (0..rows * columns).map(|i| i64::from(one(i)));
    let dims = dims.to_vec();
    let like = if is_like_integers { 7 } else { 1 };
    let values = match node.integer("dtype").unwrap_or(like) {
        2..=7 | 12 | 13 => Values::Integers(ones.collect()),
        _ => Values::Floats(ones.map(|v| v as f32).collect()),
    };
    Ok(Constant { dims, values })
}

/// Folds `Expand`.
pub(super) fn expand(x: &Constant, target: &Constant) -> FoldedConstant {
    let dims = broadcast_dims(&x.dims, &sizes(target)?)?;
    bounded(dims.iter().fold(1, |all, d| all.saturating_mul(*d)), 1)?;
    Ok(expanded(x, &dims))
}

/// Folds `Tile`.
pub(super) fn tiled(x: &Constant, repeats: &Constant) -> FoldedConstant {
    let repeats = sizes(repeats)?;
    if repeats.len() != x.dims.len() {
        return Err(integers("repeats"));
    }
    let all = repeats
        .iter()
        .fold(x.values.len(), |all, r| all.saturating_mul(*r));
    bounded(all, 1)?;
    let pairs = x.dims.iter().zip(&repeats);
    let positions: Vec<Vec<usize>> = pairs
        .map(|(&d, &r)| (0..r).flat_map(|_| 0..d).collect())
        .collect();
    let dims = positions.iter().map(Vec::len).collect();
    Ok(picked(x, dims, &indices(&positions, &strides(&x.dims))))
}
