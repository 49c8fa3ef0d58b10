//! Products of matrices of activations by cuBLASLt: the matrices of one axis as a batch, as often
//! as there are positions of the other axes.

use crate::compute::ComputeError;
use crate::compute::gpu::{Axes, OperandSource, TensorOperand};
use crate::compute::tensors::Strided;
use crate::network::MAX_RANK;

use super::gemm::{Gemm, MatrixOrder, Product, ProductBatch};
use super::work::{LaneMemory, Queue, QueuedWork};

/// The most library calls that may replace one launch of our kernel.
const MOST_CALLS: usize = 24;

/// A product of a step for `rows` rows.
pub(super) struct BatchedProduct<'a> {
    pub queue: &'a Queue,
    pub memory: &'a LaneMemory,
    pub rows: usize,
    pub left: &'a TensorOperand,
    pub right: &'a TensorOperand,
    pub to: &'a TensorOperand,
}

/// Matrices along an axis: how many, and the values from one to the next of left, right and answer.
#[derive(Clone, Copy, Debug)]
struct MatrixAxis {
    size: usize,
    steps: [usize; 3],
}

impl BatchedProduct<'_> {
    /// Returns the calls, or `None` if the library does not support the layout of the matrices.
    ///
    /// # Errors
    /// The library reports an error.
    pub(super) fn works(&self) -> Option<Result<Vec<QueuedWork>, ComputeError>> {
        let first = self.product()?;
        let mut axes = self.axes();
        let longest = (0..axes.len()).max_by_key(|&at| axes[at].size);
        let batch = longest.map(|at| axes.swap_remove(at));
        let calls: usize = axes.iter().map(|axis| axis.size).product();
        (calls <= MOST_CALLS).then_some(())?;
        Some(
            (0..calls)
                .map(|call| self.call(first, batch, &axes, call))
                .collect(),
        )
    }

    fn call(
        &self,
        first: Product,
        batch: Option<MatrixAxis>,
        axes: &[MatrixAxis],
        mut call: usize,
    ) -> Result<QueuedWork, ComputeError> {
        let bytes = first.precision.bytes();
        let mut product = first;
        for axis in axes {
            let [left, right, to] = axis
                .steps
                .map(|step| (call % axis.size * step * bytes) as u64);
            product.from += left;
            product.filters += right;
            product.to += to;
            call /= axis.size;
        }
        if let Some(MatrixAxis { size, steps }) = batch {
            product.batch = ProductBatch {
                count: size,
                from: steps[0],
                filters: steps[1],
                to: steps[2],
            };
        }
        let workspace = self.queue.workspace.bytes;
        Gemm::best(&self.queue.blas, product, workspace).map(QueuedWork::Product)
    }

    /// Returns the product of the first matrices.
    fn product(&self) -> Option<Product> {
        let rank = self.to.at.rank();
        let sides =
            |of: &Strided| [rank - 2, rank - 1].map(|axis| (of.dims[axis], of.stride(axis)));
        let [(lines, left_line), (depth, left_depth)] = sides(&self.left.at);
        let [(_, right_depth), (columns, right_column)] = sides(&self.right.at);
        let [(_, to_pitch), (_, to_column)] = sides(&self.to.at);
        let (from_order, from_pitch) = order((depth, left_depth), (lines, left_line))?;
        let (filters_order, filters_pitch) = order((depth, right_depth), (columns, right_column))?;
        let row_after_row = (columns == 1 || to_column == 1) && (lines == 1 || to_pitch >= columns);
        Some(Product {
            precision: self.memory.precision,
            pixels: lines,
            inputs: depth,
            outputs: columns,
            from: self.address(self.left)?,
            from_pitch,
            from_order,
            filters: self.address(self.right)?,
            filters_pitch,
            filters_order,
            bias: 0,
            residual: 0,
            residual_pitch: 0,
            to: self.address(self.to)?,
            to_pitch: to_pitch.max(columns),
            relu: false,
            batch: ProductBatch::ONE,
        })
        .filter(|_| row_after_row)
    }

    /// Returns the address of an operand, or `None` if it is not in the plan's precision.
    fn address(&self, operand: &TensorOperand) -> Option<u64> {
        let OperandSource::Value(place) = operand.source else {
            return None;
        };
        let far = operand.at.offset * self.memory.precision.bytes();
        (!operand.wide).then(|| self.memory.place(place) + far as u64)
    }

    /// Returns the axes before the matrices, the batch's rows among them.
    fn axes(&self) -> Vec<MatrixAxis> {
        let all = [self.left, self.right, self.to];
        let merged = Axes::merged(&all.map(|o| o.at), self.to.at.rank() - 2, MAX_RANK);
        let mut axes = vec![MatrixAxis {
            size: self.rows,
            steps: all.map(|o| o.row),
        }];
        for axis in (0..MAX_RANK).filter(|&axis| merged.sizes[axis] > 1) {
            let (size, steps) = (
                merged.sizes[axis],
                [0, 1, 2].map(|n| merged.strides[n][axis]),
            );
            let last = axes[axes.len() - 1];
            let goes_on = (0..3).all(|n| last.steps[n] == steps[n] * size);
            match goes_on || last.size == 1 {
                true => {
                    axes.pop();
                    axes.push(MatrixAxis {
                        size: last.size * size,
                        steps,
                    });
                }
                false => axes.push(MatrixAxis { size, steps }),
            }
        }
        axes
    }
}

/// Returns the order of a matrix and its pitch, from the size and the stride of its depth and of its
/// lanes; `None` if it has no neighbours, or repeats some.
fn order(depth: (usize, usize), lanes: (usize, usize)) -> Option<(MatrixOrder, usize)> {
    let pitch = |run: (usize, usize), other: (usize, usize)| {
        let is_run = run.0 == 1 || run.1 == 1;
        let apart = other.0 == 1 || other.1 >= run.0;
        (is_run && apart).then(|| other.1.max(run.0))
    };
    let by_depth = pitch(depth, lanes).map(|pitch| (MatrixOrder::Depth, pitch));
    by_depth.or_else(|| pitch(lanes, depth).map(|pitch| (MatrixOrder::Lanes, pitch)))
}
