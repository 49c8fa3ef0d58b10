//! Operations on tensors by plain Candle operations. Tensors are `[batch, …]`.

use candle_core::{D, DType, Result, Tensor};

use super::ParameterSource;
use super::arithmetic::{binary, is_not_zero, unary};
use crate::network::{Binary, Border, Dims, Reduction, Shape, TensorOp};

/// Returns the answer of one operation.
pub(super) fn apply(
    op: TensorOp,
    name: &str,
    source: &mut dyn ParameterSource,
    inputs: &[&Tensor],
    shapes: &[Shape],
) -> Result<Tensor> {
    let x = inputs[0];
    let batch = x.dim(0)?;
    let parameter = |suffix: &str| source.parameter(&format!("{name}.{suffix}"));
    match op {
        TensorOp::View { shape } => from_stored(&to_stored(x, shapes[0])?, shape),
        TensorOp::Part { first, shape } => {
            let run = x.narrow(1, first, shape.elements())?;
            run.reshape(batched(batch, &Vec::<usize>::from(shape)))
        }
        TensorOp::Row => {
            let rows = inputs.iter().map(|x| x.contiguous()?.flatten_from(1));
            Tensor::cat(&rows.collect::<Result<Vec<_>>>()?, 1)
        }
        TensorOp::Constant { dims } => {
            let value = parameter("value")?.unsqueeze(0)?;
            value.broadcast_as(batched(batch, &dims))?.contiguous()
        }
        TensorOp::Transpose { order } => {
            let axes: Vec<usize> = std::iter::once(0)
                .chain(order.iter().map(|a| a + 1))
                .collect();
            x.permute(axes)?.contiguous()
        }
        TensorOp::Binary { kind } => paired(kind, x, inputs[1]),
        TensorOp::With { kind, first, .. } => {
            let value = parameter("value")?.unsqueeze(0)?;
            match first {
                true => paired(kind, &value, x),
                false => paired(kind, x, &value),
            }
        }
        TensorOp::Unary { kind } => unary(kind, x),
        TensorOp::Where => {
            let (a, b) = aligned(inputs[1], inputs[2])?;
            let (condition, a) = aligned(x, &a)?;
            let (condition, b) = aligned(&condition, &b)?;
            let (_, a) = aligned(&condition, &a)?;
            is_not_zero(&condition)?.where_cond(&a, &b)
        }
        TensorOp::MatMul => product(x, inputs[1]),
        TensorOp::Reduce { kind, axes, keep } => reduce(kind, x, &axes, keep),
        TensorOp::Slice {
            axis,
            start,
            count,
            step,
        } => {
            let at = |i: usize| (start as isize + i as isize * step) as u32;
            let positions: Vec<u32> = (0..count).map(at).collect();
            x.contiguous()?
                .index_select(&Tensor::new(positions, x.device())?, axis + 1)
        }
        TensorOp::Join { axis } => Tensor::cat(inputs, axis + 1),
        TensorOp::Gather { axis } => {
            let rows = (0..batch).map(|row| {
                let (x, at) = (x.get(row)?, inputs[1].get(row)?);
                take(&x, axis, &at)
            });
            Tensor::stack(&rows.collect::<Result<Vec<_>>>()?, 0)
        }
        TensorOp::Take { axis, .. } => take(x, axis + 1, &parameter("indices")?),
        TensorOp::Embedding { .. } => take(&parameter("weight")?, 0, x),
        TensorOp::Pad {
            before,
            after,
            border,
        } => (0..before.rank()).try_fold(x.clone(), |x, axis| {
            pad(&x, axis + 1, before[axis], after[axis], border)
        }),
        TensorOp::Expand { dims } => {
            let x = with_rank(x, dims.rank() + 1)?;
            x.broadcast_as(batched(batch, &dims))?.contiguous()
        }
        TensorOp::TopK {
            count,
            largest,
            positions,
        } => best(x, count, largest, positions),
        TensorOp::CumSum {
            axis,
            exclusive,
            reverse,
        } => running(x, axis + 1, [exclusive, reverse], 0.0, |all, v| all + v),
        TensorOp::CumProd {
            axis,
            exclusive,
            reverse,
        } => running(x, axis + 1, [exclusive, reverse], 1.0, |all, v| all * v),
    }
}

fn batched(batch: usize, dims: &[usize]) -> Vec<usize> {
    [&[batch], dims].concat()
}

/// Returns an image with its channels last, others as they are.
pub(in crate::compute) fn to_stored(x: &Tensor, shape: Shape) -> Result<Tensor> {
    match shape {
        Shape::Image { .. } => x.permute((0, 2, 3, 1))?.contiguous(),
        _ => x.contiguous(),
    }
}

/// Returns values in storage order as a tensor of `shape`, with an image's channels before its
/// height.
pub(in crate::compute) fn from_stored(x: &Tensor, shape: Shape) -> Result<Tensor> {
    let x = x.reshape(batched(x.dim(0)?, &shape.stored()))?;
    match shape {
        Shape::Image { .. } => x.permute((0, 3, 1, 2))?.contiguous(),
        _ => Ok(x),
    }
}

/// Returns `x` with `rank` dimensions. Missing dimensions of size 1 are inserted after the batch.
fn with_rank(x: &Tensor, rank: usize) -> Result<Tensor> {
    let missing = vec![1; rank.saturating_sub(x.rank())];
    x.reshape([&x.dims()[..1], &missing, &x.dims()[1..]].concat())
}

/// Returns both tensors repeated to one shape.
fn aligned(a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let rank = a.rank().max(b.rank());
    let (a, b) = (with_rank(a, rank)?, with_rank(b, rank)?);
    let shape = a.shape().broadcast_shape_binary_op(b.shape(), "aligned")?;
    Ok((
        a.broadcast_as(&shape)?.contiguous()?,
        b.broadcast_as(&shape)?.contiguous()?,
    ))
}

fn paired(kind: Binary, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (a, b) = aligned(a, b)?;
    binary(kind, &a, &b)
}

fn product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let rank = a.rank().max(b.rank());
    let (a, b) = (with_rank(a, rank)?, with_rank(b, rank)?);
    let (lines, columns) = (a.dim(rank - 2)?, b.dim(rank - 1)?);
    let size = |axis: usize| a.dims()[axis].max(b.dims()[axis]);
    let before: Vec<usize> = (0..rank - 2).map(size).collect();
    let dims = [&before[..], &[lines, columns]].concat();
    // Candle multiplies matrices of at most two axes more.
    let flat = |x: &Tensor| x.contiguous()?.flatten_to(rank - 3);
    if [&a, &b].iter().all(|x| x.dims().starts_with(&before)) {
        return flat(&a)?.matmul(&flat(&b)?)?.reshape(dims);
    }
    // One after the other, since the copies of a repeated matrix have no bound.
    let count = before.iter().product::<usize>();
    let one = |number: usize| matrix(&a, &before, number)?.matmul(&matrix(&b, &before, number)?);
    let each = (0..count).map(one).collect::<Result<Vec<_>>>()?;
    Tensor::stack(&each, 0)?.reshape(dims)
}

/// Returns matrix number `number`, with matrices repeated along the axes `before` the last two.
fn matrix(x: &Tensor, before: &[usize], mut number: usize) -> Result<Tensor> {
    let mut at = x.clone();
    for (axis, &size) in before.iter().enumerate().rev() {
        let own = number % size;
        number /= size;
        at = at.narrow(axis, own.min(x.dim(axis)? - 1), 1)?;
    }
    at.contiguous()?.reshape(&x.dims()[before.len()..])
}

/// Returns the positions of `axis` that `at` lists, in place of that axis.
fn take(x: &Tensor, axis: usize, at: &Tensor) -> Result<Tensor> {
    let size = x.dim(axis)?;
    let listed: Vec<f32> = at.contiguous()?.flatten_all()?.to_vec1()?;
    let from_start = |v: f32| if v < 0.0 { v + size as f32 } else { v };
    let positions = listed.into_iter().map(|v| match from_start(v) {
        v if v >= 0.0 && v < size as f32 => Ok(v as u32),
        _ => candle_core::bail!("position {v} is outside of {size} values"),
    });
    let positions = Tensor::new(positions.collect::<Result<Vec<u32>>>()?, x.device())?;
    let taken = x.contiguous()?.index_select(&positions, axis)?;
    taken.reshape([&x.dims()[..axis], at.dims(), &x.dims()[axis + 1..]].concat())
}

fn reduce(kind: Reduction, x: &Tensor, axes: &Dims, keep: bool) -> Result<Tensor> {
    let axes: Vec<usize> = axes.iter().map(|a| a + 1).collect();
    let each = |x: Tensor, f: &dyn Fn(&Tensor, usize) -> Result<Tensor>| {
        axes.iter().try_fold(x, |x, &axis| f(&x, axis))
    };
    let kept = match kind {
        Reduction::Sum => x.sum_keepdim(axes.clone()),
        Reduction::Mean => x.mean_keepdim(axes.clone()),
        Reduction::L1 => x.abs()?.sum_keepdim(axes.clone()),
        Reduction::L2 => x.sqr()?.sum_keepdim(axes.clone())?.sqrt(),
        Reduction::SumOfSquares => x.sqr()?.sum_keepdim(axes.clone()),
        Reduction::Max => each(x.clone(), &|x, axis| x.max_keepdim(axis)),
        Reduction::Min => each(x.clone(), &|x, axis| x.min_keepdim(axis)),
        Reduction::Product => each(x.clone(), &|x, axis| {
            let first = x.narrow(axis, 0, 1)?;
            (1..x.dim(axis)?).try_fold(first, |all, i| all * x.narrow(axis, i, 1)?)
        }),
        Reduction::ArgMax => each(x.clone(), &|x, axis| {
            x.argmax_keepdim(axis)?.to_dtype(DType::F32)
        }),
        Reduction::ArgMin => each(x.clone(), &|x, axis| {
            x.argmin_keepdim(axis)?.to_dtype(DType::F32)
        }),
    }?;
    if keep {
        return Ok(kept);
    }
    axes.iter().rev().try_fold(kept, |x, &axis| x.squeeze(axis))
}

fn pad(x: &Tensor, axis: usize, before: usize, after: usize, border: Border) -> Result<Tensor> {
    let size = x.dim(axis)?;
    let select = |positions: Vec<u32>| -> Result<Tensor> {
        x.contiguous()?
            .index_select(&Tensor::new(positions, x.device())?, axis)
    };
    let at = |i: isize| -> u32 {
        let last = size as isize - 1;
        let inside = match border {
            Border::Reflect if i < 0 => -i,
            Border::Reflect if i > last => 2 * last - i,
            _ => i.clamp(0, last),
        };
        inside as u32
    };
    match border {
        _ if before + after == 0 => Ok(x.clone()),
        Border::Constant(value) => {
            let border = |count: usize| {
                let mut dims = x.dims().to_vec();
                dims[axis] = count;
                Tensor::full(value, dims, x.device())
            };
            Tensor::cat(&[border(before)?, x.clone(), border(after)?], axis)
        }
        _ => select(
            (-(before as isize)..(size + after) as isize)
                .map(at)
                .collect(),
        ),
    }
}

/// Returns the first `count` values of each row in their order, or their positions. NaN counts as
/// the largest.
fn best(x: &Tensor, count: usize, largest: bool, positions: bool) -> Result<Tensor> {
    let size = x.dim(D::Minus1)?;
    let values: Vec<f32> = x.flatten_all()?.to_vec1()?;
    let mut best = Vec::with_capacity(values.len() / size.max(1) * count);
    for row in values.chunks_exact(size) {
        let mut order: Vec<usize> = (0..size).collect();
        order.sort_by(|&a, &b| match largest {
            true => (row[b] + 0.0).total_cmp(&(row[a] + 0.0)),
            false => (row[a] + 0.0).total_cmp(&(row[b] + 0.0)),
        });
        let first = order.into_iter().take(count);
        best.extend(first.map(|at| if positions { at as f32 } else { row[at] }));
    }
    Tensor::from_vec(
        best,
        [&x.dims()[..x.rank() - 1], &[count]].concat(),
        x.device(),
    )
}

/// Returns the running results of a function along an axis, beginning with `start`.
fn running(
    x: &Tensor,
    axis: usize,
    [exclusive, reverse]: [bool; 2],
    start: f32,
    f: fn(f32, f32) -> f32,
) -> Result<Tensor> {
    let size = x.dim(axis)?;
    let behind: usize = x.dims()[axis + 1..].iter().product();
    let mut values: Vec<f32> = x.contiguous()?.flatten_all()?.to_vec1()?;
    for block in values.chunks_exact_mut((size * behind).max(1)) {
        for line in 0..behind {
            let mut all = start;
            for step in 0..size {
                let at = if reverse { size - 1 - step } else { step };
                let value = &mut block[at * behind + line];
                let next = f(all, *value);
                *value = if exclusive { all } else { next };
                all = next;
            }
        }
    }
    Tensor::from_vec(values, x.shape(), x.device())
}
