//! Operations on tensors of any rank, as in ONNX files.
//!
//! Axes and dimensions are those of the stored values. An image becomes a tensor `[height, width,
//! channels]` through a view, which costs nothing. The batch is not a dimension. Integers and
//! booleans are held as float32, exact up to 2²⁴; false is 0.

mod answer;
mod functions;

use serde::{Deserialize, Serialize};

use super::dims::Dims;
use super::parameters::ParameterRole;
use super::shape::Shape;

pub use functions::{Binary, Border, Reduction, Unary};

/// An operation on tensors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tensor", rename_all = "kebab-case")]
pub enum TensorOp {
    /// The same values in the same order under another shape.
    View {
        /// The new shape.
        shape: Shape,
    },
    /// A run of a vector as a tensor; as an image if `shape` is one, its channels slowest in
    /// the vector. So one row of values holds several inputs.
    Part {
        /// The first value.
        first: usize,
        /// The shape of the run.
        shape: Shape,
    },
    /// All inputs one after another as a vector, images with their channels slowest. So one
    /// row of values holds several answers.
    Row,
    /// The parameter `value`, whatever the sample.
    Constant {
        /// Its dimensions.
        dims: Dims,
    },
    /// Axes in another order: axis `i` of the answer is axis `order[i]` of the input.
    Transpose {
        /// The axes.
        order: Dims,
    },
    /// Two values for each answer, repeated along sizes of 1 as in NumPy.
    Binary {
        /// The function of them.
        kind: Binary,
    },
    /// Like `Binary`, with the parameter `value` as one of the operands.
    With {
        /// The function of them.
        kind: Binary,
        /// Dimensions of the parameter.
        dims: Dims,
        /// Whether the parameter is the first operand.
        first: bool,
    },
    /// One value for each answer.
    Unary {
        /// The function of it.
        kind: Unary,
    },
    /// The second input if the first is not 0, else the third; repeated as in NumPy.
    Where,
    /// Products of matrices `[…, m, k]` and `[…, k, n]`, repeated along the axes before.
    MatMul,
    /// One value for all along some axes.
    Reduce {
        /// The function of them.
        kind: Reduction,
        /// The axes, ascending.
        axes: Dims,
        /// Whether the reduced axes remain, with size 1.
        keep: bool,
    },
    /// Every `step`-th position along an axis.
    Slice {
        /// The axis.
        axis: usize,
        /// The first position.
        start: usize,
        /// Positions taken.
        count: usize,
        /// Distance of the positions; negative backwards.
        step: isize,
    },
    /// Tensors one after another along an axis.
    Join {
        /// The axis.
        axis: usize,
    },
    /// Positions along an axis of the first input, which the second one lists; a negative one
    /// counts from the end.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// Like `Gather`, with the parameter `indices`.
    Take {
        /// The axis.
        axis: usize,
        /// Dimensions of the parameter.
        indices: Dims,
    },
    /// Rows of the parameter `weight` (`[rows, features]`), which the input lists.
    Embedding {
        /// Rows of the table.
        rows: usize,
        /// Values of a row.
        features: usize,
    },
    /// A border around a tensor.
    Pad {
        /// Positions before each axis.
        before: Dims,
        /// Positions after each axis.
        after: Dims,
        /// The border's values.
        border: Border,
    },
    /// The input repeated along sizes of 1, as in NumPy.
    Expand {
        /// Dimensions of the answer.
        dims: Dims,
    },
    /// The largest or the least values of each row along the last axis, in their order; of
    /// equal ones the first comes first.
    TopK {
        /// Values of each row.
        count: usize,
        /// Whether the largest values are taken, instead of the smallest.
        largest: bool,
        /// Whether the answer is the positions instead of the values.
        positions: bool,
    },
    /// Sums of all values up to each one along an axis.
    CumSum {
        /// The axis.
        axis: usize,
        /// Whether a value is excluded from its own sum.
        exclusive: bool,
        /// Whether sums begin at the end.
        reverse: bool,
    },
    /// Products of all values up to each one along an axis.
    CumProd {
        /// The axis.
        axis: usize,
        /// Whether a value is excluded from its own product.
        exclusive: bool,
        /// Whether products begin at the end.
        reverse: bool,
    },
}

impl TensorOp {
    /// Returns the operation's name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            TensorOp::View { .. } => "view",
            TensorOp::Part { .. } => "part",
            TensorOp::Row => "row",
            TensorOp::Constant { .. } => "constant",
            TensorOp::Transpose { .. } => "transpose",
            TensorOp::Binary { kind } | TensorOp::With { kind, .. } => kind.name(),
            TensorOp::Unary { kind } => kind.name(),
            TensorOp::Where => "where",
            TensorOp::MatMul => "matmul",
            TensorOp::Reduce { kind, .. } => kind.name(),
            TensorOp::Slice { .. } => "slice",
            TensorOp::Join { .. } => "join",
            TensorOp::Gather { .. } => "gather",
            TensorOp::Take { .. } => "take",
            TensorOp::Embedding { .. } => "embedding",
            TensorOp::Pad { .. } => "pad",
            TensorOp::Expand { .. } => "expand",
            TensorOp::TopK { .. } => "top-k",
            TensorOp::CumSum { .. } => "cum-sum",
            TensorOp::CumProd { .. } => "cum-prod",
        }
    }

    /// Returns how many inputs the operation takes: `(least, most)`. A constant reads the sample
    /// only for the size of the batch.
    pub const fn arity(&self) -> (usize, usize) {
        match self {
            TensorOp::Binary { .. } | TensorOp::MatMul | TensorOp::Gather { .. } => (2, 2),
            TensorOp::Where => (3, 3),
            TensorOp::Row | TensorOp::Join { .. } => (1, usize::MAX),
            _ => (1, 1),
        }
    }

    /// Returns whether the answer consists of values of the only input, in any order.
    pub const fn moves_values(&self) -> bool {
        matches!(
            self,
            TensorOp::View { .. }
                | TensorOp::Part { .. }
                | TensorOp::Transpose { .. }
                | TensorOp::Slice { .. }
        )
    }

    /// Returns the parameters by their last names, with dimensions and roles.
    pub(in crate::network) fn parameters(&self) -> Vec<(&'static str, Dims, ParameterRole)> {
        match *self {
            TensorOp::Constant { dims } | TensorOp::With { dims, .. } => {
                vec![("value", dims, ParameterRole::Operand)]
            }
            TensorOp::Take { indices, .. } => vec![("indices", indices, ParameterRole::Operand)],
            TensorOp::Embedding { rows, features } => {
                let dims = Dims::new(&[rows, features]);
                let role = ParameterRole::Weight { fan_in: features };
                dims.map(|dims| ("weight", dims, role))
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the number of values in all parameters.
    pub fn parameter_values(&self) -> usize {
        let all = self.parameters().into_iter();
        all.map(|(_, dims, _)| dims.elements()).sum()
    }

    /// Returns the floating-point operations for an answer of `out` values.
    pub(in crate::network) fn flops(&self, out: u64, input: Shape) -> u64 {
        match self {
            TensorOp::MatMul => 2 * out * input.channels() as u64,
            TensorOp::Binary { .. } | TensorOp::With { .. } | TensorOp::Unary { .. } => out,
            TensorOp::Reduce { .. } | TensorOp::TopK { .. } => input.elements() as u64,
            TensorOp::CumSum { .. } | TensorOp::CumProd { .. } => input.elements() as u64,
            _ => 0,
        }
    }
}
