//! Folded sums, means and extremes along axes.

use super::axes;
use super::elementwise::{greater, lesser};
use super::inputs::FoldedConstant;
use super::select::{indices, strides};
use crate::network::Reduction;
use crate::onnx::error::NodeFault;
use crate::onnx::node::{Node, axis};
use crate::onnx::shapes::reduced_axes;
use crate::onnx::tensor::{Constant, Values};

/// Folds a reduction over the axes of a node.
pub(super) fn reduced(
    kind: Reduction,
    x: &Constant,
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> FoldedConstant {
    let rank = x.dims.len();
    if matches!(kind, Reduction::ArgMax | Reduction::ArgMin) {
        let along = axis(node.integer("axis").unwrap_or(0), rank)?;
        return Ok(with_axes(extreme(kind, x, along, node), node, &[along]));
    }
    let Some(over) = reduced_axes(node, axes(node, inputs), rank)? else {
        return unreduced(kind, x);
    };
    let kept: Vec<usize> = (0..rank)
        .map(|a| if over.contains(&a) { 1 } else { x.dims[a] })
        .collect();
    let own = strides(&kept);
    let steps = (0..rank).map(|a| if kept[a] == 1 { 0 } else { own[a] });
    let positions: Vec<Vec<usize>> = x.dims.iter().map(|&d| (0..d).collect()).collect();
    let to = indices(&positions, &steps.collect::<Vec<_>>());
    let count: usize = kept.iter().product();
    let values = match &x.values {
        Values::Floats(v) => Values::Floats(of_floats(kind, v, &to, count).into()),
        Values::Integers(v) => Values::Integers(of_integers(kind, v, &to, count)?.into()),
        Values::Booleans(_) => {
            return Err(NodeFault::Shapes("its input is boolean".into()));
        }
    };
    let kept = Constant { dims: kept, values };
    Ok(with_axes(kept, node, &over))
}

/// Returns the effect of a reduction on each value if it reduces no axis.
fn unreduced(kind: Reduction, x: &Constant) -> FoldedConstant {
    let values = match (kind, &x.values) {
        (Reduction::L1 | Reduction::L2, Values::Floats(v)) => {
            Values::Floats(v.iter().map(|v| v.abs()).collect())
        }
        (Reduction::L1 | Reduction::L2, Values::Integers(v)) => {
            Values::Integers(v.iter().map(|v| v.saturating_abs()).collect())
        }
        (Reduction::SumOfSquares, Values::Floats(v)) => {
            Values::Floats(v.iter().map(|v| v * v).collect())
        }
        (Reduction::SumOfSquares, Values::Integers(v)) => {
            let squares: Option<Vec<i64>> = v.iter().map(|v| v.checked_mul(*v)).collect();
            Values::Integers(squares.ok_or_else(overflow)?.into())
        }
        (_, values) => values.clone(),
    };
    let dims = x.dims.clone();
    Ok(Constant { dims, values })
}

fn overflow() -> NodeFault {
    NodeFault::Shapes("an integer overflows".into())
}

/// Returns a reduction without its axes if the node does not keep them.
fn with_axes(kept: Constant, node: Node<'_>, over: &[usize]) -> Constant {
    if node.integer("keepdims").unwrap_or(1) != 0 {
        return kept;
    }
    let left = (0..kept.dims.len()).filter(|a| !over.contains(a));
    Constant {
        dims: left.map(|a| kept.dims[a]).collect(),
        values: kept.values,
    }
}

fn of_floats(kind: Reduction, values: &[f32], to: &[usize], count: usize) -> Vec<f32> {
    let start = match kind {
        Reduction::Max => f32::NEG_INFINITY,
        Reduction::Min => f32::INFINITY,
        Reduction::Product => 1.0,
        _ => 0.0,
    };
    let mut all = vec![start; count];
    for (&v, &at) in values.iter().zip(to) {
        let one = &mut all[at];
        *one = match kind {
            Reduction::Max => greater(*one, v),
            Reduction::Min => lesser(*one, v),
            Reduction::Product => *one * v,
            Reduction::L1 => *one + v.abs(),
            Reduction::L2 | Reduction::SumOfSquares => *one + v * v,
            _ => *one + v,
        };
    }
    let each = values.len() as f32 / count.max(1) as f32;
    match kind {
        Reduction::Mean => all.iter_mut().for_each(|v| *v /= each),
        Reduction::L2 => all.iter_mut().for_each(|v| *v = v.sqrt()),
        _ => {}
    }
    all
}

fn of_integers(
    kind: Reduction,
    values: &[i64],
    to: &[usize],
    count: usize,
) -> Result<Vec<i64>, NodeFault> {
    let start = match kind {
        Reduction::Max => i64::MIN,
        Reduction::Min => i64::MAX,
        Reduction::Product => 1,
        _ => 0,
    };
    let mut all = vec![start; count];
    for (&v, &at) in values.iter().zip(to) {
        let one = all[at];
        let next = match kind {
            Reduction::Max => Some(one.max(v)),
            Reduction::Min => Some(one.min(v)),
            Reduction::Product => one.checked_mul(v),
            Reduction::L1 => one.checked_add(v.saturating_abs()),
            Reduction::L2 | Reduction::SumOfSquares => {
                v.checked_mul(v).and_then(|v| one.checked_add(v))
            }
            _ => one.checked_add(v),
        };
        all[at] = next.ok_or_else(overflow)?;
    }
    let each = (values.len() / count.max(1)).max(1) as i64;
    match kind {
        Reduction::Mean => all.iter_mut().for_each(|v| *v /= each),
        Reduction::L2 => all.iter_mut().for_each(|v| *v = (*v as f64).sqrt() as i64),
        _ => {}
    }
    Ok(all)
}

/// Returns the number of positions before, along and after an axis.
fn split(dims: &[usize], along: usize) -> (usize, usize, usize) {
    let before = dims[..along].iter().product();
    let behind = dims[along + 1..].iter().product();
    (before, dims[along], behind)
}

/// Returns the position of the largest or least value along an axis, which stays.
fn extreme(kind: Reduction, x: &Constant, along: usize, node: Node<'_>) -> Constant {
    let (before, size, behind) = split(&x.dims, along);
    let is_last = node.integer("select_last_index") == Some(1);
    let floats = x.to_floats();
    let better = |a: f32, b: f32| match (kind, is_last) {
        (Reduction::ArgMax, false) => a > b,
        (Reduction::ArgMax, true) => a >= b,
        (_, false) => a < b,
        (_, true) => a <= b,
    };
    let best = |row: usize| {
        let at = |i: usize| floats[(row / behind * size + i) * behind + row % behind];
        (1..size).fold(0, |best, i| if better(at(i), at(best)) { i } else { best }) as i64
    };
    let mut dims = x.dims.clone();
    dims[along] = 1;
    let values = (0..before * behind).map(best).collect();
    Constant {
        dims,
        values: Values::Integers(values),
    }
}

/// Folds `CumSum` and `CumProd`.
pub(super) fn running(x: &Constant, along: &Constant, node: Node<'_>) -> FoldedConstant {
    let along = along.as_integers().and_then(|a| a.first().copied());
    let along = axis(along.unwrap_or(0), x.dims.len())?;
    let (before, size, behind) = split(&x.dims, along);
    let reverse = node.integer("reverse") == Some(1);
    let exclusive = node.integer("exclusive") == Some(1);
    let place = |row: usize, step: usize| {
        let i = if reverse { size - 1 - step } else { step };
        (row / behind * size + i) * behind + row % behind
    };
    let is_product = node.operator() == Some("CumProd");
    macro_rules! run {
        ($values:expr, $start:expr, $join:expr) => {{
            let mut made = $values.to_vec();
            for row in 0..before * behind {
                let mut all = $start;
                for at in (0..size).map(|step| place(row, step)) {
                    let next = $join(all, $values[at]);
                    made[at] = if exclusive { all } else { next };
                    all = next;
                }
            }
            made
        }};
    }
    let values = match &x.values {
        Values::Floats(v) => Values::Floats(match is_product {
            true => run!(v, 1.0f32, |a, b| a * b).into(),
            false => run!(v, 0.0f32, |a, b| a + b).into(),
        }),
        Values::Integers(v) => Values::Integers(match is_product {
            true => run!(v, 1i64, i64::saturating_mul).into(),
            false => run!(v, 0i64, i64::saturating_add).into(),
        }),
        Values::Booleans(_) => {
            return Err(NodeFault::Shapes("its input is boolean".into()));
        }
    };
    let dims = x.dims.clone();
    Ok(Constant { dims, values })
}
