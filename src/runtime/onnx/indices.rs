//! The positions of values selected by constant indices.

use super::error::NodeFault;
use super::node::{axis, position};
use super::shapes::{bounded, integers};
use super::tensor::Constant;

/// Dimensions of an answer, and the position in memory of each of its values.
pub(super) type Positions = (Vec<usize>, Vec<usize>);

fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for at in (1..dims.len()).rev() {
        strides[at - 1] = strides[at] * dims[at];
    }
    strides
}

/// Returns the positions that `GatherElements` reads and `ScatterElements` writes.
///
/// # Errors
/// The indices are not of the data's rank or not inside it.
pub(super) fn elements(
    dims: &[usize],
    which: &Constant,
    along: Option<i64>,
) -> Result<Positions, NodeFault> {
    let along = axis(along.unwrap_or(0), dims.len())?;
    let listed = which.as_integers().ok_or_else(|| integers("index"))?;
    let inside = |(at, (a, b)): (usize, (&usize, &usize))| at == along || a <= b;
    let fits = which.dims.iter().zip(dims).enumerate().all(inside);
    if which.dims.len() != dims.len() || !fits {
        let why = format!("indices of {:?} do not fit {dims:?}", which.dims);
        return Err(NodeFault::Shapes(why));
    }
    let (own, strides) = (strides(&which.dims), strides(dims));
    let place = |(at, &index): (usize, &i64)| {
        let index = position(index, dims[along])?;
        let along_each = (0..dims.len()).map(|a| match a == along {
            true => index * strides[a],
            false => at / own[a] % which.dims[a] * strides[a],
        });
        Ok(along_each.sum())
    };
    let at = listed.iter().enumerate().map(place);
    Ok((which.dims.clone(), at.collect::<Result<_, NodeFault>>()?))
}

/// Returns the positions that `GatherND` reads and `ScatterND` writes.
///
/// # Errors
/// The indices do not fit the data or are not inside it.
pub(super) fn nd(dims: &[usize], which: &Constant, batch: i64) -> Result<Positions, NodeFault> {
    let wrong = || NodeFault::Shapes(format!("indices of {:?} do not fit {dims:?}", which.dims));
    let listed = which.as_integers().ok_or_else(|| integers("index"))?;
    let (&depth, before) = which.dims.split_last().ok_or_else(wrong)?;
    let batch = usize::try_from(batch).map_err(|_| wrong())?;
    let fits = batch <= before.len() && batch + depth <= dims.len();
    if !fits || depth == 0 || before.get(..batch) != dims.get(..batch) {
        return Err(wrong());
    }
    let strides = strides(dims);
    let run: usize = dims[batch + depth..].iter().product();
    bounded(listed.len() / depth, run)?;
    let of_batch: usize = dims[..batch].iter().product();
    let each = (listed.len() / depth) / of_batch.max(1);
    let size: usize = dims[batch..].iter().product();
    let mut positions = Vec::new();
    for (at, index) in listed.chunks_exact(depth).enumerate() {
        let mut start = at / each.max(1) * size;
        for (k, &i) in index.iter().enumerate() {
            start += position(i, dims[batch + k])? * strides[batch + k];
        }
        positions.extend(start..start + run);
    }
    let made = [before, &dims[batch + depth..]].concat();
    Ok((made, positions))
}

/// Returns the source of each value after values were written one after another at the positions
/// `at` over `count` others. Sources count the others first.
pub(super) fn overwritten(count: usize, at: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for (from, &to) in at.iter().enumerate() {
        order[to] = count + from;
    }
    order
}
