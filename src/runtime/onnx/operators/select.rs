//! Some positions of a tensor, and tensors one after another.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Dims, Op, Shape, TensorOp};
use crate::onnx::activation::Activation;
use crate::onnx::error::NodeFault;
use crate::onnx::fold::taken;
use crate::onnx::indices::Positions;
use crate::onnx::layout::{Layout, common, inserted};
use crate::onnx::node::{Node, axis, position};
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::shapes::{concat_dims, split_sizes};
use crate::onnx::tensor::Constant;
use crate::tensor::MOST_EXACT;

/// Returns the position of an axis among others.
pub(super) fn place(axes: &[usize], axis: usize) -> usize {
    axes.iter().position(|a| *a == axis).unwrap_or(0)
}

/// Returns dimensions with one axis replaced by others.
pub(super) fn replaced(dims: &[usize], axis: usize, by: &[usize]) -> Vec<usize> {
    [&dims[..axis], by, &dims[axis + 1..]].concat()
}

/// Returns `axes` after `axis` was replaced by `rank` others, which lie in `order`, or
/// ascending.
pub(super) fn spread(
    axes: &[usize],
    axis: usize,
    rank: usize,
    order: Option<&[usize]>,
) -> Vec<usize> {
    let ascending: Vec<usize> = (0..rank).collect();
    let each = axes.iter().flat_map(|&a| match a.cmp(&axis) {
        std::cmp::Ordering::Less => vec![a],
        std::cmp::Ordering::Equal => {
            let new = order.unwrap_or(&ascending).iter();
            new.map(|n| n + axis).collect()
        }
        std::cmp::Ordering::Greater => vec![a + rank - 1],
    });
    each.collect()
}

impl<'a> PartialNetwork<'a> {
    /// Adds every `step`-th of `count` positions along an axis from `start` on.
    pub(super) fn slice(
        &mut self,
        node: Node<'a>,
        x: &Activation,
        axis: usize,
        start: usize,
        count: usize,
        step: isize,
    ) -> Added {
        let size = x.dims()[axis];
        match count {
            0 => return unsupported("its answer is empty"),
            _ if count == size && (step == 1 || size == 1) => return Ok(x.clone()),
            _ => {}
        }
        let mut dims = x.dims().to_vec();
        dims[axis] = count;
        let is_image = matches!(self.shape(x.id), Shape::Image { .. }) && dims.len() == 4;
        if is_image && axis == 1 && step == 1 && x.layout.lies_as(&[2, 3, 1]) {
            let channels = Op::Channels {
                first: start,
                count,
            };
            let id = self.layer(node, channels, &[x.id], Vec::new())?;
            return Ok(Activation {
                id,
                ..x.with_layout(Layout::new(dims, &[2, 3, 1]))
            });
        }
        let axes = x.layout.axes_with(&[axis]);
        let from = self.stored(node, x, &axes)?;
        let op = TensorOp::Slice {
            axis: place(&axes, axis),
            start,
            count,
            step: if count == 1 { 1 } else { step },
        };
        let id = self.tensor(node, op, &[from])?;
        let layout = Layout::new(dims, &axes);
        Ok(Activation {
            id,
            ..x.with_layout(layout)
        })
    }

    /// Adds the positions along an axis listed by a constant.
    pub(super) fn take(
        &mut self,
        node: Node<'a>,
        x: &Activation,
        along: usize,
        which: &Constant,
    ) -> Added {
        let Some(listed) = which.as_integers() else {
            return unsupported("its indices are not integers");
        };
        let size = x.dims()[along];
        let listed = listed.iter().map(|&i| position(i, size));
        let listed: Vec<usize> = listed.collect::<Result<_, _>>()?;
        let dims = replaced(x.dims(), along, &which.dims);
        let first = listed.first().copied().unwrap_or(0);
        if !listed.is_empty() && listed.iter().copied().eq(first..first + listed.len()) {
            let made = self.slice(node, x, along, first, listed.len(), 1)?;
            return self.reshaped(node, &made, &dims);
        }
        if listed.is_empty() {
            return unsupported("its answer is empty");
        }
        exact_positions(size)?;
        let axes = x.layout.axes_with(&[along]);
        let from = self.stored(node, x, &axes)?;
        let op = Op::Tensor(TensorOp::Take {
            axis: place(&axes, along),
            indices: Dims::new(&[listed.len()])?,
        });
        let values = listed.into_iter().map(|i| i as f32).collect();
        let id = self.layer(node, op, &[from], vec![("indices", values)])?;
        let layout = Layout::new(dims, &spread(&axes, along, which.dims.len(), None));
        Ok(Activation {
            id,
            ..x.with_layout(layout)
        })
    }

    /// Adds the values of `x` at positions in the order of the file.
    pub(super) fn at(&mut self, node: Node<'a>, x: &Activation, (dims, at): Positions) -> Added {
        let count = x.dims().iter().product();
        let flat = self.reshaped(node, x, &[count])?;
        self.fold_budget.spend(at.len())?;
        let which = Constant::integers(at.into_iter().map(|i| i as i64).collect());
        let made = self.take(node, &flat, 0, &which)?;
        self.reshaped(node, &made, &dims)
    }

    /// Adds tensors one after another along an axis.
    pub(super) fn join(&mut self, node: Node<'a>, parts: &[Activation], along: usize) -> Added {
        let dims: Vec<&[usize]> = parts.iter().map(Activation::dims).collect();
        let dims = concat_dims(&dims, along)?;
        let layouts: Vec<&Layout> = parts.iter().map(|p| &p.layout).collect();
        let shapes: Vec<Shape> = parts.iter().map(|p| self.shape(p.id)).collect();
        let images = shapes.iter().all(|s| matches!(s, Shape::Image { .. }));
        let channels = images && along == 1 && dims.len() == 4;
        let (ids, axes) = if channels && layouts.iter().all(|l| l.lies_as(&[2, 3, 1])) {
            (parts.iter().map(|p| p.id).collect(), vec![2, 3, 1])
        } else {
            let axes = inserted(&common(&layouts), &[along]);
            let ids = parts.iter().map(|p| self.stored(node, p, &axes));
            (ids.collect::<Result<Vec<_>, Refusal>>()?, axes)
        };
        let op = match axes.last() == Some(&along) {
            true => Op::Concat,
            false => Op::Tensor(TensorOp::Join {
                axis: place(&axes, along),
            }),
        };
        let id = self.layer(node, op, &ids, Vec::new())?;
        let layout = Layout::new(dims, &axes);
        Ok(Activation {
            id,
            ..parts[0].with_layout(layout)
        })
    }
}

pub(super) fn slice<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    for n in 1..inputs.0.len() {
        inputs.integers(n)?;
    }
    let mut x = network.input(node, inputs, 0)?;
    let dims = x.dims().to_vec();
    for part in taken(&dims, node, &inputs.constants())? {
        let start = part.positions.first().copied().unwrap_or(0);
        x = network.slice(node, &x, part.axis, start, part.positions.len(), part.step)?;
    }
    Ok(x)
}

pub(super) fn split<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let x = network.input(node, inputs, 0)?;
    let along = axis(node.integer("axis").unwrap_or(0), x.dims().len())?;
    let sizes = split_sizes(node, inputs.constant(1)?, x.dims()[along])?;
    let mut first = 0;
    let mut parts = Vec::new();
    for count in sizes {
        parts.push(network.slice(node, &x, along, first, count, 1)?);
        first += count;
    }
    Ok(parts)
}

pub(super) fn concat<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let mut parts = Vec::new();
    for value in inputs.0.iter().flatten() {
        // A part without values adds nothing.
        if value.dims().is_some_and(|d| !d.contains(&0)) {
            parts.push(network.operand(node, value)?);
        }
    }
    let Some(rank) = parts.first().map(|p| p.dims().len()) else {
        return Err(NodeFault::NoInput(0).into());
    };
    let along = axis(node.integer("axis").unwrap_or(1), rank)?;
    match parts.as_slice() {
        [one] => Ok(one.clone()),
        _ => network.join(node, &parts, along),
    }
}

/// Refuses positions too large for float32, in which kernels read them.
pub(super) fn exact_positions(among: usize) -> Result<(), Refusal> {
    match among <= MOST_EXACT as usize {
        true => Ok(()),
        false => unsupported(format!("positions above {MOST_EXACT}")),
    }
}
