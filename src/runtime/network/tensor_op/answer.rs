//! The shapes of the answers of operations on tensors.

use super::{Border, Reduction, TensorOp};
use crate::network::dims::Dims;
use crate::network::error::OpError;
use crate::network::shape::Shape;

impl TensorOp {
    /// Returns the shape of the answer.
    ///
    /// # Errors
    /// The operation does not take `inputs`.
    pub(in crate::network) fn output(&self, inputs: &[Shape]) -> Result<Shape, OpError> {
        match *self {
            TensorOp::View { shape } if shape.elements() == inputs[0].elements() => {
                return Ok(shape);
            }
            TensorOp::Part { first, shape } => return part(inputs[0], first, shape),
            TensorOp::Row => {
                let all = inputs.iter().map(|s| s.elements()).sum();
                return Ok(Shape::vector(all));
            }
            TensorOp::Constant { dims } => return Ok(Shape::tensor(dims)),
            _ => {}
        }
        let dims: Vec<Dims> = inputs
            .iter()
            .map(|&s| tensor(s))
            .collect::<Result<_, _>>()?;
        self.dims(&dims)
            .map(Shape::tensor)
            .ok_or_else(|| OpError::Tensors {
                found: inputs.to_vec(),
            })
    }

    /// Returns the dimensions of the answer, or `None` if the inputs do not fit.
    fn dims(&self, inputs: &[Dims]) -> Option<Dims> {
        let first = inputs[0];
        match *self {
            TensorOp::View { .. }
            | TensorOp::Part { .. }
            | TensorOp::Row
            | TensorOp::Constant { .. } => None,
            TensorOp::Unary { .. } => Some(first),
            TensorOp::Transpose { order } => transposed(&first, &order),
            TensorOp::Binary { .. } => first.broadcast(&inputs[1]),
            TensorOp::With { dims, .. } => first.broadcast(&dims),
            TensorOp::Where => first.broadcast(&inputs[1])?.broadcast(&inputs[2]),
            TensorOp::MatMul => product(&first, &inputs[1]),
            TensorOp::Reduce { kind, axes, keep } => reduced(&first, kind, &axes, keep),
            TensorOp::Slice {
                axis,
                start,
                count,
                step,
            } => {
                let end =
                    start.checked_add_signed(step.checked_mul(count.checked_sub(1)? as isize)?)?;
                let size = *first.get(axis)?;
                (start < size && end < size).then(|| first.with(axis, count))
            }
            TensorOp::Join { axis } => joined(inputs, axis),
            TensorOp::Gather { axis } => gathered(&first, axis, &inputs[1]),
            TensorOp::Take { axis, indices } => gathered(&first, axis, &indices),
            TensorOp::Embedding { features, .. } => {
                Dims::new(&[&first[..], &[features]].concat()).ok()
            }
            TensorOp::Pad {
                before,
                after,
                border,
            } => padded(&first, &before, &after, border),
            TensorOp::Expand { dims } => (first.broadcast(&dims) == Some(dims)).then_some(dims),
            TensorOp::TopK { count, .. } => {
                let last = first.rank().checked_sub(1)?;
                (1..=first[last])
                    .contains(&count)
                    .then(|| first.with(last, count))
            }
            TensorOp::CumSum { axis, .. } | TensorOp::CumProd { axis, .. } => {
                (axis < first.rank()).then_some(first)
            }
        }
    }
}

/// Returns the dimensions of a shape that is not an image.
fn tensor(shape: Shape) -> Result<Dims, OpError> {
    match shape {
        Shape::Image { .. } => Err(OpError::NotATensor { found: shape }),
        _ => Ok(shape.stored()),
    }
}

fn part(from: Shape, first: usize, shape: Shape) -> Result<Shape, OpError> {
    let fits = match (from, first.checked_add(shape.elements())) {
        (Shape::Vector { features }, Some(end)) => end <= features,
        _ => false,
    };
    let none = || OpError::Tensors { found: vec![from] };
    fits.then_some(shape).ok_or_else(none)
}

fn transposed(dims: &Dims, order: &Dims) -> Option<Dims> {
    let mut axes = order.to_vec();
    axes.sort_unstable();
    let sizes = order.iter().map(|&axis| dims.get(axis).copied());
    let sizes = sizes.collect::<Option<Vec<_>>>()?;
    axes.into_iter().eq(0..dims.rank()).then_some(())?;
    Dims::new(&sizes).ok()
}

fn product(a: &Dims, b: &Dims) -> Option<Dims> {
    let (&[m, k], before) = (a.last_chunk::<2>()?, &a[..a.rank() - 2]);
    let (&[l, n], other) = (b.last_chunk::<2>()?, &b[..b.rank() - 2]);
    let many = Dims::new(before).ok()?.broadcast(&Dims::new(other).ok()?)?;
    let dims = [&many[..], &[m, n]].concat();
    (k == l).then(|| Dims::new(&dims).ok())?
}

fn reduced(dims: &Dims, kind: Reduction, axes: &Dims, keep: bool) -> Option<Dims> {
    let single = matches!(kind, Reduction::ArgMax | Reduction::ArgMin);
    let ascending = axes.is_sorted_by(|a, b| a < b) && axes.iter().all(|&a| a < dims.rank());
    if !ascending || single && axes.rank() != 1 {
        return None;
    }
    let left = (0..dims.rank()).filter_map(|axis| match (axes.contains(&axis), keep) {
        (false, _) => Some(dims[axis]),
        (true, true) => Some(1),
        (true, false) => None,
    });
    Dims::new(&left.collect::<Vec<_>>()).ok()
}

fn joined(parts: &[Dims], axis: usize) -> Option<Dims> {
    let first = parts[0];
    first.get(axis)?;
    let alike = |p: &Dims| p.rank() == first.rank() && p.with(axis, 1) == first.with(axis, 1);
    let all = parts
        .iter()
        .map(|p| p.get(axis).copied().unwrap_or(0))
        .sum();
    parts.iter().all(alike).then(|| first.with(axis, all))
}

fn gathered(dims: &Dims, axis: usize, indices: &Dims) -> Option<Dims> {
    dims.get(axis)?;
    let sizes = [&dims[..axis], &indices[..], &dims[axis + 1..]].concat();
    Dims::new(&sizes).ok()
}

fn padded(dims: &Dims, before: &Dims, after: &Dims, border: Border) -> Option<Dims> {
    if before.rank() != dims.rank() || after.rank() != dims.rank() {
        return None;
    }
    let sizes = (0..dims.rank()).map(|axis| {
        let mirrored = before[axis].max(after[axis]) < dims[axis];
        let fits = border != Border::Reflect || mirrored;
        let size = before[axis]
            .checked_add(dims[axis])?
            .checked_add(after[axis]);
        size.filter(|_| fits)
    });
    Dims::new(&sizes.collect::<Option<Vec<_>>>()?).ok()
}
