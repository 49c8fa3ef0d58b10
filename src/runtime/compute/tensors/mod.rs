//! Steps on tensors of any rank: the places that they read and write, and the fusion of several
//! into one.
//!
//! Transposes and slices do not run if only products read their answers. The products read the
//! value before them by strides. A product, a softmax and a product become attention.

mod attention;
mod operands;
mod strided;

use super::fuse::{FusedStep, StepKernel, ValueId};
use crate::network::{Binary, Dims, Graph, Op, Shape, TensorOp};
use operands::{MadeValues, resolved};

pub use attention::ShareGuard;
pub(super) use attention::{AttentionForm, MaskSource};
pub use strided::Strided;

/// How a step on tensors reads its inputs and writes its answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TensorForm {
    /// A single operation.
    Plain {
        inputs: Vec<Strided>,
        output: Dims,
    },
    /// Matrices `[…, m, k]` times `[…, k, n]` into `[…, m, n]`.
    Product {
        left: Strided,
        right: Strided,
        output: Strided,
    },
    Attention(AttentionForm),
}

/// Returns the steps with the forms of those on tensors. Steps that are no longer read are removed.
pub(super) fn arranged(graph: &Graph, steps: Vec<FusedStep>) -> Vec<FusedStep> {
    let is_tensor = |step: &FusedStep| matches!(step.kernel, StepKernel::Tensor(_));
    if !steps.iter().any(is_tensor) {
        return steps;
    }
    let mut values = MadeValues::new(graph, &steps);
    let mut done: Vec<FusedStep> = Vec::with_capacity(steps.len());
    for mut step in steps {
        if let StepKernel::Tensor(op) = step.kernel {
            if values.is_made_otherwise(step.output) {
                continue;
            }
            arrange(&mut values, &mut step, op);
        }
        done.push(step);
    }
    without_unread(graph, done)
}

fn arrange(values: &mut MadeValues<'_>, step: &mut FusedStep, op: TensorOp) {
    let form = match op {
        TensorOp::MatMul => match attention::form(values, step) {
            Some((inputs, form)) => {
                step.inputs = inputs;
                TensorForm::Attention(form)
            }
            None => product(values, step),
        },
        _ => plain(values, step, op),
    };
    step.tensors = Some(Box::new(form));
}

fn product(values: &mut MadeValues<'_>, step: &mut FusedStep) -> TensorForm {
    let dims = values.dims(step.output);
    let rank = dims.rank();
    let [left, right] = [0, 1].map(|i| resolved(values, step.inputs[i], false));
    // The axes before the matrices, with the matrices' own.
    let all = |of: Strided| {
        let own = of.rank();
        let dims = dims
            .with(rank - 2, of.dims[own - 2])
            .with(rank - 1, of.dims[own - 1]);
        of.expanded(&dims)
    };
    match (all(left.at), all(right.at)) {
        (Some(left_at), Some(right_at)) => {
            step.inputs = vec![left.value, right.value];
            TensorForm::Product {
                left: left_at,
                right: right_at,
                output: values.written(step, dims),
            }
        }
        // Cannot happen: the dimensions were checked when the graph was built.
        _ => plain(values, step, TensorOp::MatMul),
    }
}

fn plain(values: &MadeValues<'_>, step: &mut FusedStep, op: TensorOp) -> TensorForm {
    let output = values.dims(step.output);
    if let TensorOp::Transpose { .. } | TensorOp::Slice { .. } | TensorOp::View { .. } = op {
        let found = resolved(values, step.output, false);
        // A view of a whole value costs nothing if it stays a view.
        let is_view = matches!(op, TensorOp::View { .. });
        if found.value != step.output && !is_view {
            step.inputs = vec![found.value];
            return TensorForm::Plain {
                inputs: vec![found.at],
                output,
            };
        }
    }
    let inputs = step.inputs.iter().map(|&v| operand_place(values, v, op));
    TensorForm::Plain {
        inputs: inputs.collect(),
        output,
    }
}

/// Returns where an operation reads a value: whole, or with channels first for images that become
/// part of a row.
fn operand_place(values: &MadeValues<'_>, value: ValueId, op: TensorOp) -> Strided {
    let whole = Strided::whole(values.dims(value));
    match (op, values.shape(value), Dims::new(&[2, 0, 1])) {
        (TensorOp::Row, Shape::Image { .. }, Ok(order)) => whole.transposed(&order),
        _ => whole,
    }
}

/// Removes steps whose answers are not read.
pub(super) fn without_unread(graph: &Graph, steps: Vec<FusedStep>) -> Vec<FusedStep> {
    // The plan may add a value after those of the nodes.
    let mut read = vec![false; graph.nodes().len() + 2];
    read[graph.nodes().len()] = true;
    let mut kept: Vec<FusedStep> = Vec::with_capacity(steps.len());
    for step in steps.into_iter().rev() {
        if read[step.output] {
            step.reads().for_each(|value| read[value] = true);
            kept.push(step);
        }
    }
    kept.reverse();
    kept
}

/// Returns whether an operation adds a constant to each of `channels` values of a row, or
/// multiplies each by one. Such an operation can be folded into weights.
pub(super) fn is_affine(op: Op, channels: usize) -> bool {
    let Op::Tensor(TensorOp::With { kind, dims, .. }) = op else {
        return false;
    };
    let each = dims.elements() == 1 || dims.elements() == channels && dims.last_size() == channels;
    each && matches!(kind, Binary::Add | Binary::Mul)
}
