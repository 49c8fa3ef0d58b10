//! Single operations on tensors, as launches over operands: copies, functions, reductions and
//! lookups.

use crate::compute::tensors::Strided;
use crate::network::{Border, Dims, Reduction, Shape, TensorOp};

use super::functions::{MapFunction, reduction_code};
use super::tensors::{LookupWork, ScanWork, TensorOperand, TensorWork};

/// Returns the copy of a tensor.
pub(super) fn copy(from: TensorOperand, to: TensorOperand) -> TensorWork {
    TensorWork::Map {
        function: MapFunction::Copy,
        from: vec![from],
        to,
    }
}

/// Returns the work of a single operation.
pub(super) fn plain(
    op: TensorOp,
    from: Vec<TensorOperand>,
    to: TensorOperand,
) -> Option<Vec<TensorWork>> {
    let first = *from.first()?;
    let dims = to.at.dims;
    let work = match op {
        TensorOp::Binary { kind } => mapped(MapFunction::Two(kind), from, to)?,
        TensorOp::With {
            kind,
            dims,
            first: before,
        } => {
            let value = TensorOperand::parameters(Strided::whole(dims));
            let pair = if before {
                vec![value, first]
            } else {
                vec![first, value]
            };
            mapped(MapFunction::Two(kind), pair, to)?
        }
        TensorOp::Unary { kind } => mapped(MapFunction::One(kind), from, to)?,
        TensorOp::Where => mapped(MapFunction::Choice, from, to)?,
        TensorOp::Expand { .. } => mapped(MapFunction::Copy, from, to)?,
        TensorOp::Constant { .. } => copy(TensorOperand::parameters(Strided::whole(dims)), to),
        TensorOp::Slice {
            axis,
            start,
            count,
            step,
        } if step < 0 => return backwards(first, to, axis, start, count, step.unsigned_abs()),
        // The places of the values were found together with the steps.
        TensorOp::Slice { .. } | TensorOp::Transpose { .. } if first.at.dims == dims => {
            copy(first, to)
        }
        TensorOp::View { .. } => viewed(first, to)?,
        TensorOp::Part { first: at, shape } => {
            let at = channels_slowest(shape, at).moved(first.at.offset);
            copy(TensorOperand { at, ..first }, to)
        }
        TensorOp::Row => return row(&from, to),
        TensorOp::Join { axis } => return joined(&from, to, axis),
        TensorOp::Pad {
            before,
            after,
            border,
        } => return padded(first, to, [before, after], border),
        TensorOp::Reduce { kind, axes, .. } => reduced(kind, axes, first, to)?,
        TensorOp::CumSum {
            axis,
            exclusive,
            reverse,
        }
        | TensorOp::CumProd {
            axis,
            exclusive,
            reverse,
        } => TensorWork::Scan(ScanWork {
            from: first.sliced(axis, 0, 1)?,
            to: to.sliced(axis, 0, 1)?,
            count: dims[axis],
            steps: [first.at.stride(axis), to.at.stride(axis)],
            exclusive,
            reverse,
            product: matches!(op, TensorOp::CumProd { .. }),
        }),
        TensorOp::Gather { .. } | TensorOp::Take { .. } | TensorOp::Embedding { .. } => {
            lookup(op, &from, to)?
        }
        _ => return None,
    };
    Some(vec![work])
}

/// Returns a function of operands that are repeated to the answer's dimensions, or `None` if the
/// kernels do not have it.
fn mapped(
    function: MapFunction,
    from: Vec<TensorOperand>,
    to: TensorOperand,
) -> Option<TensorWork> {
    function.code()?;
    let repeated = from.into_iter().map(|operand| {
        let at = operand.at.expanded(&to.at.dims)?;
        Some(TensorOperand { at, ..operand })
    });
    Some(TensorWork::Map {
        function,
        from: repeated.collect::<Option<_>>()?,
        to,
    })
}

/// Returns the copy of a value to the same values under other dimensions.
fn viewed(from: TensorOperand, to: TensorOperand) -> Option<TensorWork> {
    match (from.at.viewed(&to.at.dims), to.at.viewed(&from.at.dims)) {
        (Some(at), _) => Some(copy(TensorOperand { at, ..from }, to)),
        (None, Some(at)) => Some(copy(from, TensorOperand { at, ..to })),
        (None, None) => None,
    }
}

/// Returns where the values of a part lie in the row, in the order in which they are held.
fn channels_slowest(shape: Shape, first: usize) -> Strided {
    let dims = shape.stored();
    let planes = || Dims::new(&[dims[2], dims[0], dims[1]]);
    match (shape, Dims::new(&[1, 2, 0])) {
        (Shape::Image { .. }, Ok(order)) => {
            let planes = Strided::whole(planes().unwrap_or(dims));
            planes.moved(first).transposed(&order)
        }
        _ => Strided::whole(dims).moved(first),
    }
}

/// The most positions of a slice backwards, which are copied one by one.
const MOST_BACKWARDS: usize = 32;

/// The most positions of a border of copies; each is a launch.
const MOST_BORDER: usize = 4096;

/// Returns copies of single positions, because strides cannot be negative.
fn backwards(
    from: TensorOperand,
    to: TensorOperand,
    axis: usize,
    start: usize,
    count: usize,
    step: usize,
) -> Option<Vec<TensorWork>> {
    let place = |i: usize| start.checked_sub(i * step);
    let one = |i: usize| {
        Some(copy(
            from.sliced(axis, place(i)?, 1)?,
            to.sliced(axis, i, 1)?,
        ))
    };
    (count <= MOST_BACKWARDS).then(|| (0..count).map(one).collect())?
}

/// Returns copies into one row; an image's channels are its slowest already.
fn row(from: &[TensorOperand], to: TensorOperand) -> Option<Vec<TensorWork>> {
    let mut first = to.at.offset;
    let copies = from.iter().map(|&part| {
        // A row is one long run, which any dimensions fit in.
        let at = Strided::whole(part.at.dims).moved(first);
        first += part.at.dims.elements();
        copy(part, TensorOperand { at, ..to })
    });
    Some(copies.collect())
}

fn joined(from: &[TensorOperand], to: TensorOperand, axis: usize) -> Option<Vec<TensorWork>> {
    let mut first = 0;
    let copies = from.iter().map(|&part| {
        let count = part.at.dims[axis];
        let place = to.sliced(axis, first, count)?;
        first += count;
        Some(copy(part, place))
    });
    copies.collect()
}

/// Returns the copy of the inner values, and the border: filled before the copy, or copied from the
/// inner values axis after axis.
fn padded(
    from: TensorOperand,
    to: TensorOperand,
    [before, after]: [Dims; 2],
    border: Border,
) -> Option<Vec<TensorWork>> {
    let dims = from.at.dims;
    let inside = |to: TensorOperand, axis: usize| to.sliced(axis, before[axis], dims[axis]);
    let centre = (0..dims.rank()).try_fold(to, inside)?;
    if let Border::Constant(value) = border {
        let fill = TensorWork::Map {
            function: MapFunction::Fill(value),
            from: Vec::new(),
            to,
        };
        return Some(vec![fill, copy(from, centre)]);
    }
    let border_positions: usize = before.iter().chain(&after[..]).sum();
    if border_positions > MOST_BORDER {
        return None;
    }
    let mut works = vec![copy(from, centre)];
    for axis in 0..dims.rank() {
        // Earlier axes have their borders already, later ones do not.
        let all = (axis + 1..dims.rank()).try_fold(to, inside)?;
        let (first, last) = (before[axis], before[axis] + dims[axis] - 1);
        for at in (0..first).chain(last + 1..=last + after[axis]) {
            let near = match border {
                Border::Reflect if at < first => 2 * first - at,
                Border::Reflect => 2 * last - at,
                _ => at.clamp(first, last),
            };
            works.push(copy(all.sliced(axis, near, 1)?, all.sliced(axis, at, 1)?));
        }
    }
    Some(works)
}

fn reduced(
    kind: Reduction,
    axes: Dims,
    from: TensorOperand,
    to: TensorOperand,
) -> Option<TensorWork> {
    reduction_code(kind)?;
    // Both see all axes; the axes of the other one have size 1.
    let only = |inside: bool| {
        let mut others = (0..from.at.rank()).filter(|axis| axes.contains(axis) != inside);
        others.try_fold(from, |of, axis| of.sliced(axis, 0, 1))
    };
    let kept = only(false)?;
    let along = only(true)?.at;
    let at = to.at.viewed(&kept.at.dims)?;
    Some(TensorWork::Reduce {
        kind,
        from: kept,
        along,
        to: TensorOperand { at, ..to },
    })
}

/// Returns a lookup; rows are found by their number, so all operands lie in one piece.
fn lookup(op: TensorOp, from: &[TensorOperand], to: TensorOperand) -> Option<TensorWork> {
    let whole = |of: &TensorOperand| of.at == Strided::whole(of.at.dims).moved(of.at.offset);
    let first = *from.first()?;
    let (table, indices, axis) = match op {
        TensorOp::Embedding { .. } => (None, first, 0),
        TensorOp::Take { axis, indices } => {
            let indices = TensorOperand::parameters(Strided::whole(indices));
            (Some(first), indices, axis)
        }
        TensorOp::Gather { axis } => (Some(first), *from.get(1)?, axis),
        _ => return None,
    };
    let elements = |of: &[usize]| of.iter().product::<usize>();
    let dims = first.at.dims;
    let (before, count, after) = match op {
        TensorOp::Embedding { rows, features } => (1, rows, features),
        _ => (
            elements(&dims[..axis]),
            dims[axis],
            elements(&dims[axis + 1..]),
        ),
    };
    let listed = indices.at.dims.elements();
    let fits = before * listed * after == to.at.dims.elements();
    let all_whole = from.iter().chain([&to]).all(whole);
    (fits && all_whole).then_some(TensorWork::Lookup(LookupWork {
        table,
        indices,
        to,
        before,
        count,
        after,
    }))
}
