//! Operations on tensors of any rank, whose values lie in rows, the last axis fastest.
//!
//! | file | operations |
//! |---|---|
//! | `moves` | transposes, slices, joins, borders, repetition: copies, transposed in blocks |
//! | `pairs` | functions of one, two and three values, repeated as in NumPy |
//! | `reduce` | sums, means, extremes along axes |
//! | `scan` | sums and products of all values up to each one |
//! | `lookup` | rows of tables, by index |
//! | `product` | products of matrices |
//! | `attention` | softmax(Q·Kᵀ)·V in blocks that stay in cache |

mod arithmetic;
mod attention;
mod head;
mod lookup;
mod moves;
mod operands;
mod pairs;
mod product;
mod reduce;
mod rounding;
mod scan;
mod tiles;
mod walk;

use super::panels::TileShape;
use super::task::{Call, MAX_PHASES, Scratch};
use crate::compute::buffers::TensorView;
use crate::compute::fuse::{FusedStep, StepKernel};
use crate::compute::tensors::{Strided, TensorForm};
use crate::network::{Dims, Reduction, TensorOp};
use attention::Attention;
use lookup::Lookup;
use moves::Moves;
use operands::PlacedOperands;
use pairs::Pairs;
use product::ActivationProduct;
use reduce::Reduce;
use scan::Scan;

/// The kernel of one operation.
#[derive(Clone, Debug)]
pub(in crate::compute) enum TensorMethod {
    Moves(Moves),
    Pairs(Pairs),
    Reduce(Reduce),
    Scan(Scan),
    Lookup(Lookup),
    Product(ActivationProduct),
    Attention(Attention),
}

impl TensorMethod {
    /// The kernel's name in reports.
    pub(super) fn name(&self) -> &'static str {
        match self {
            TensorMethod::Moves(_) => "moves",
            TensorMethod::Pairs(_) => "pairs",
            TensorMethod::Reduce(_) => "reduce",
            TensorMethod::Scan(_) => "scan",
            TensorMethod::Lookup(_) => "lookup",
            TensorMethod::Product(_) => "product",
            TensorMethod::Attention(_) => "attention",
        }
    }

    /// Returns the kernel of a step, or `None` if it has none.
    pub(super) fn new(
        fused: &FusedStep,
        inputs: &[TensorView],
        output: TensorView,
        shape: TileShape,
    ) -> Option<Self> {
        let operands = &PlacedOperands { inputs, output };
        let StepKernel::Tensor(op) = fused.kernel else {
            return None;
        };
        match fused.tensors.as_deref()? {
            TensorForm::Product {
                left,
                right,
                output,
            } => {
                ActivationProduct::new(operands, [*left, *right, *output], shape).map(Self::Product)
            }
            TensorForm::Attention(form) => {
                Attention::new(operands, form, shape).map(Self::Attention)
            }
            TensorForm::Plain { inputs, output } => plain(op, operands, inputs, *output),
        }
    }

    /// Returns the tasks of each phase; 0 for phases that do not exist.
    pub(super) fn phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        let tasks = match self {
            TensorMethod::Moves(m) => return m.phases(samples, threads),
            TensorMethod::Pairs(p) => p.split(samples, threads).tasks(),
            TensorMethod::Reduce(r) => r.split(samples, threads).tasks(),
            TensorMethod::Scan(s) => s.split(samples, threads).tasks(),
            TensorMethod::Lookup(l) => l.split(samples, threads).tasks(),
            TensorMethod::Product(p) => p.tasks(samples, threads),
            TensorMethod::Attention(a) => a.tasks(samples, threads),
        };
        [tasks, 0, 0, 0]
    }

    pub(super) fn scratch(&self) -> Scratch {
        match self {
            TensorMethod::Product(p) => p.scratch(),
            TensorMethod::Attention(a) => a.scratch(),
            _ => Scratch::default(),
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run).
    pub(super) unsafe fn run(&self, call: &mut Call<'_>, phase: usize, task: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self {
                TensorMethod::Moves(m) => m.run(call, phase, task),
                TensorMethod::Pairs(p) => p.run(call, task),
                TensorMethod::Reduce(r) => r.run(call, task),
                TensorMethod::Scan(s) => s.run(call, task),
                TensorMethod::Lookup(l) => l.run(call, task),
                TensorMethod::Product(p) => p.run(call, task),
                TensorMethod::Attention(a) => a.run(call, task),
            }
        }
    }
}

/// Returns the kernel of a single operation.
fn plain(
    op: TensorOp,
    operands: &PlacedOperands<'_>,
    inputs: &[Strided],
    output: Dims,
) -> Option<TensorMethod> {
    match op {
        TensorOp::Binary { .. } | TensorOp::With { .. } | TensorOp::Unary { .. } => {
            Pairs::new(op, operands, inputs, output).map(TensorMethod::Pairs)
        }
        TensorOp::Where => Pairs::new(op, operands, inputs, output).map(TensorMethod::Pairs),
        TensorOp::Reduce { kind, axes, .. } => {
            let single = matches!(kind, Reduction::ArgMax | Reduction::ArgMin);
            let last = axes[..] == [inputs[0].rank().checked_sub(1)?];
            if single && !last {
                return None;
            }
            Reduce::new(kind, axes, operands, inputs[0], output).map(TensorMethod::Reduce)
        }
        TensorOp::CumSum { .. } | TensorOp::CumProd { .. } => {
            Scan::new(op, operands, inputs[0], output).map(TensorMethod::Scan)
        }
        TensorOp::Gather { .. } | TensorOp::Take { .. } | TensorOp::Embedding { .. } => {
            Lookup::new(op, operands, inputs, output).map(TensorMethod::Lookup)
        }
        _ => Moves::new(op, operands, inputs, output).map(TensorMethod::Moves),
    }
}
