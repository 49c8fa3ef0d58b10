//! Whether a network ends in probabilities: what its last operations make of its numbers.

use super::activation::Activation;
use super::graph::{Graph, NodeId};
use super::op::Op;
use super::tensor_op::{Binary, Reduction, TensorOp, Unary};

/// Numbers from 0 to 1 that a network ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probabilities {
    /// Each run of `row` numbers sums to 1: the network ends in a softmax.
    Shares {
        /// The numbers of a run.
        row: usize,
    },
    /// Each is from 0 to 1: the network ends in a sigmoid, or rounds the shares of a softmax.
    Each,
}

impl Probabilities {
    /// Returns the name of the operation that makes them.
    pub fn name(self) -> &'static str {
        match self {
            Probabilities::Shares { .. } => "softmax",
            Probabilities::Each => "sigmoid",
        }
    }
}

impl Graph {
    /// Returns the probabilities that the network ends in, or `None` if it ends in other numbers.
    /// Operations that only move or repeat values do not hide a softmax or a sigmoid before them.
    pub fn probabilities(&self) -> Option<Probabilities> {
        let last = self.values().next_back().map(|(id, _)| id)?;
        self.probabilities_of(last)
    }

    fn probabilities_of(&self, value: NodeId) -> Option<Probabilities> {
        let node = self.node(value)?;
        let before = || self.probabilities_of(*node.inputs.first()?);
        match node.op {
            Op::Softmax => Some(Probabilities::Shares {
                row: node.shape.stored().last_size(),
            }),
            Op::Activation(Activation::Sigmoid | Activation::HardSigmoid { .. }) => {
                Some(Probabilities::Each)
            }
            Op::Activation(Activation::Clip { .. }) | Op::Flatten => before(),
            Op::Activation(Activation::FakeQuantise { .. }) => before().map(rounded),
            Op::Channels { .. } => before().map(|_| Probabilities::Each),
            Op::Tensor(op) => self.probabilities_of_tensor(value, op),
            _ => None,
        }
    }

    fn probabilities_of_tensor(&self, value: NodeId, op: TensorOp) -> Option<Probabilities> {
        let node = self.node(value)?;
        let first = *node.inputs.first()?;
        match op {
            TensorOp::View { .. } | TensorOp::Transpose { .. } | TensorOp::Expand { .. } => {
                self.probabilities_of(first)
            }
            TensorOp::Slice { .. } | TensorOp::Take { .. } => {
                self.probabilities_of(first).map(|_| Probabilities::Each)
            }
            TensorOp::Row if node.inputs.len() == 1 => self.probabilities_of(first),
            TensorOp::Binary { kind: Binary::Div } => self.shares_of_exponentials(&node.inputs),
            _ => None,
        }
    }

    /// Returns the shares of `exp(x)` over its sum along the last axis, or `None` for other
    /// quotients: a softmax as some exporters write it.
    fn shares_of_exponentials(&self, inputs: &[NodeId]) -> Option<Probabilities> {
        let [part, whole] = inputs else {
            return None;
        };
        let (exponentials, sum) = (self.moved(*part)?, self.moved(*whole)?);
        let (part, sum) = (self.node(exponentials)?, self.node(sum)?);
        let row = part.shape.stored().last_size();
        let is_exp = part.op == Op::Tensor(TensorOp::Unary { kind: Unary::Exp });
        let is_sum = match sum.op {
            Op::Tensor(TensorOp::Reduce { kind, axes, .. }) => {
                let last = part.shape.stored().rank() - 1;
                kind == Reduction::Sum && *axes == [last]
            }
            _ => false,
        };
        let is_of_part = sum.inputs.first().and_then(|id| self.moved(*id)) == Some(exponentials);
        (is_exp && is_sum && is_of_part).then_some(Probabilities::Shares { row })
    }

    /// Returns the value that `value` is a view of.
    fn moved(&self, value: NodeId) -> Option<NodeId> {
        let node = self.node(value)?;
        match node.op {
            Op::Tensor(TensorOp::View { .. } | TensorOp::Expand { .. }) => {
                self.moved(*node.inputs.first()?)
            }
            _ => Some(value),
        }
    }
}

/// Returns what rounding leaves of probabilities: their sums may be off.
fn rounded(_: Probabilities) -> Probabilities {
    Probabilities::Each
}
