//! Running sums and products along an axis, one value after the other. So later values do not
//! affect earlier ones, and memory and time grow only with the number of values.

use super::super::task::{Call, Split};
use super::operands::{PlacedOperands, Source, output};
use super::walk::Walk;
use crate::compute::tensors::Strided;
use crate::network::{Dims, TensorOp};

/// A running sum or product along one axis.
#[derive(Clone, Debug)]
pub(in crate::compute) struct Scan {
    kind: ScanKind,
    exclusive: bool,
    reverse: bool,
    /// The walk over the input and the answer: the first value of each line. A run covers many
    /// neighbouring lines, so that values are read in their order.
    lines: Walk<2>,
    /// Values of a line, and the floats from one to the next.
    count: usize,
    steps: [usize; 2],
}

#[derive(Clone, Copy, Debug)]
enum ScanKind {
    Sum,
    Product,
}

/// The least floats of a task.
const GRAIN: usize = 4 * 1024;

/// The most lines that are gone through side by side.
const SIDE_BY_SIDE: usize = 64;

impl Scan {
    pub(super) fn new(
        op: TensorOp,
        operands: &PlacedOperands<'_>,
        input: Strided,
        answer: Dims,
    ) -> Option<Self> {
        let (kind, axis, exclusive, reverse) = match op {
            TensorOp::CumSum {
                axis,
                exclusive,
                reverse,
            } => (ScanKind::Sum, axis, exclusive, reverse),
            TensorOp::CumProd {
                axis,
                exclusive,
                reverse,
            } => (ScanKind::Product, axis, exclusive, reverse),
            _ => return None,
        };
        let (from, from_samples) = operands.input(0, input)?;
        let (to, to_samples) = operands.output(Strided::whole(answer))?;
        let first = |of: Strided| of.sliced(axis, 0, 1, 1);
        Some(Scan {
            kind,
            exclusive,
            reverse,
            lines: Walk::new([first(from)?, first(to)?], [from_samples, to_samples]),
            count: from.dims[axis],
            steps: [from.stride(axis), to.stride(axis)],
        })
    }

    pub(super) fn split(&self, samples: usize, threads: usize) -> Split {
        let each = self.lines.len * self.count;
        Split::new(samples * self.lines.runs(), GRAIN / each.max(1), threads)
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    pub(super) unsafe fn run(&self, call: &Call<'_>, task: usize) {
        let runs = self.split(call.samples, call.threads).range(task);
        // SAFETY: a step never reads the slot that it writes.
        let from = unsafe { Source::Input(0).floats(call) };
        let mut at = self.lines.at(runs.start);
        for _ in runs {
            // SAFETY: tasks have disjoint lines.
            unsafe {
                match self.kind {
                    ScanKind::Sum => self.run_of_lines(call, from, at.at, 0.0, |all, v| all + v),
                    ScanKind::Product => {
                        self.run_of_lines(call, from, at.at, 1.0, |all, v| all * v);
                    }
                }
            }
            at.advance();
        }
    }

    /// Goes through the lines of one run, some of them side by side.
    ///
    /// # Safety
    /// Nothing else uses the lines of the answer.
    #[inline(always)]
    unsafe fn run_of_lines(
        &self,
        call: &Call<'_>,
        from: &[f32],
        [first, to]: [usize; 2],
        start: f32,
        f: impl Fn(f32, f32) -> f32,
    ) {
        let out = output(call);
        let [line, line_to] = self.lines.steps;
        for lines in (0..self.lines.len).step_by(SIDE_BY_SIDE) {
            let mut all = [start; SIDE_BY_SIDE];
            let all = &mut all[..SIDE_BY_SIDE.min(self.lines.len - lines)];
            for step in 0..self.count {
                let place = if self.reverse {
                    self.count - 1 - step
                } else {
                    step
                };
                let values = &from[first + lines * line + place * self.steps[0]..];
                let answers = to + lines * line_to + place * self.steps[1];
                for (at, all) in all.iter_mut().enumerate() {
                    let next = f(*all, values[at * line]);
                    let answer = if self.exclusive { *all } else { next };
                    // SAFETY: guaranteed by the caller.
                    unsafe { out.set(answers + at * line_to, answer) };
                    *all = next;
                }
            }
        }
    }
}
