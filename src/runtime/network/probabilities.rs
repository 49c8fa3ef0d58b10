//! Detects whether a network ends in probabilities, from its last operations.

use super::activation::Activation;
use super::graph::{Graph, Node, NodeId};
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
    /// Each is from 0 to 1: the network ends in a sigmoid, or in some numbers of a softmax.
    Each,
}

/// The end of a network, as its last operations show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEnd {
    /// Probabilities.
    Probabilities(Probabilities),
    /// Sums of products, and operations that keep their range: any numbers.
    Scores,
    /// Operations that may make probabilities of other numbers: a trial shows it.
    Unknown,
}

impl Probabilities {
    /// Returns the end of a network in words: `a softmax`.
    pub fn name(self) -> &'static str {
        match self {
            Probabilities::Shares { .. } => "a softmax",
            Probabilities::Each => "probabilities",
        }
    }
}

impl Graph {
    /// Returns the kind of numbers that the last operations of the network produce. A softmax or
    /// sigmoid is still found behind operations that move, repeat or round values.
    pub fn end(&self) -> NetworkEnd {
        let last = self.values().next_back().map(|(id, _)| id);
        last.map_or(NetworkEnd::Scores, |last| self.end_of(last))
    }

    fn end_of(&self, value: NodeId) -> NetworkEnd {
        let Some(node) = self.node(value) else {
            return NetworkEnd::Scores;
        };
        match node.op {
            Op::Softmax => NetworkEnd::Probabilities(Probabilities::Shares {
                row: node.shape.stored().last_size(),
            }),
            Op::Activation(Activation::Sigmoid | Activation::HardSigmoid { .. }) => {
                NetworkEnd::Probabilities(Probabilities::Each)
            }
            Op::Activation(Activation::Clip { .. }) | Op::Flatten => self.before(node),
            Op::Activation(Activation::FakeQuantise { .. }) | Op::Channels { .. } => {
                after_dropping(self.before(node))
            }
            Op::Conv2d(_) | Op::Linear { .. } | Op::BatchNorm { .. } => NetworkEnd::Scores,
            // The mean of probabilities is a probability too.
            Op::GlobalAvgPool | Op::AvgPool(_) | Op::AdaptiveAvgPool { .. } | Op::Relu => {
                scores(self.before(node))
            }
            Op::Tensor(op) => self.end_of_tensor(node, op),
            _ => NetworkEnd::Unknown,
        }
    }

    fn end_of_tensor(&self, node: &Node, op: TensorOp) -> NetworkEnd {
        match op {
            TensorOp::View { .. } | TensorOp::Transpose { .. } | TensorOp::Expand { .. } => {
                self.before(node)
            }
            TensorOp::Unary {
                kind: Unary::ToF16 | Unary::ToBf16,
            } => self.before(node),
            TensorOp::Slice { .. } | TensorOp::Take { .. } => after_dropping(self.before(node)),
            TensorOp::Row if node.inputs.len() == 1 => self.before(node),
            TensorOp::MatMul => NetworkEnd::Scores,
            TensorOp::With {
                kind: Binary::Add, ..
            } => scores(self.before(node)),
            TensorOp::Binary { kind: Binary::Div } => self.shares_of_exponentials(&node.inputs),
            _ => NetworkEnd::Unknown,
        }
    }

    /// Returns the end of the first value that a node reads.
    fn before(&self, node: &Node) -> NetworkEnd {
        let first = node.inputs.first();
        first.map_or(NetworkEnd::Unknown, |first| self.end_of(*first))
    }

    /// Returns the shares of `exp(x)` over its sum along the last axis: a softmax as some exporters
    /// write it.
    fn shares_of_exponentials(&self, inputs: &[NodeId]) -> NetworkEnd {
        let shares = || {
            let [part, whole] = inputs else {
                return None;
            };
            let (exponentials, sum) = (self.moved(*part)?, self.moved(*whole)?);
            let (part, sum) = (self.node(exponentials)?, self.node(sum)?);
            let dims = part.shape.stored();
            let is_exp = part.op == Op::Tensor(TensorOp::Unary { kind: Unary::Exp });
            let is_sum = match sum.op {
                Op::Tensor(TensorOp::Reduce { kind, axes, .. }) => {
                    kind == Reduction::Sum && *axes == [dims.rank() - 1]
                }
                _ => false,
            };
            let of_part = sum.inputs.first().and_then(|id| self.moved(*id));
            let row = dims.last_size();
            (is_exp && is_sum && of_part == Some(exponentials))
                .then_some(NetworkEnd::Probabilities(Probabilities::Shares { row }))
        };
        shares().unwrap_or(NetworkEnd::Unknown)
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

/// Returns the end after some numbers are dropped or rounded: the probabilities may no longer sum
/// to 1.
fn after_dropping(end: NetworkEnd) -> NetworkEnd {
    match end {
        NetworkEnd::Probabilities(_) => NetworkEnd::Probabilities(Probabilities::Each),
        end => end,
    }
}

/// Returns the end after an operation that keeps scores and may keep probabilities.
fn scores(end: NetworkEnd) -> NetworkEnd {
    match end {
        NetworkEnd::Scores => NetworkEnd::Scores,
        _ => NetworkEnd::Unknown,
    }
}
