//! One value for all along some axes.

use std::ops::Range;

use super::super::buffer::LINE;
use super::super::memory::OutputFloats;
use super::super::task::{Call, Split};
use super::super::vector::{self, Vector, Vectorised};
use super::arithmetic::{least, most};
use super::operands::{PlacedOperands, Source, output};
use super::walk::Walk;
use crate::compute::tensors::Strided;
use crate::network::{Dims, Reduction};

/// A reduction with the walks over the kept and the reduced axes.
#[derive(Clone, Debug)]
pub(in crate::compute) struct Reduce {
    kind: Reduction,
    /// The walk over the input and the answer: whole runs if the last axis is kept, else single
    /// values.
    kept: Walk<2>,
    /// The walk over the input, relative to a position of `kept`: single values if the last axis is
    /// kept, else runs.
    reduced: Walk<1>,
    /// Values that become one.
    count: usize,
    /// Whether the last axis is kept, so that rows are added to rows.
    by_rows: bool,
}

/// The least floats of a task.
const GRAIN: usize = 4 * 1024;

impl Reduce {
    pub(super) fn new(
        kind: Reduction,
        axes: Dims,
        operands: &PlacedOperands<'_>,
        input: Strided,
        output: Dims,
    ) -> Option<Self> {
        let last = (0..input.rank()).rev().find(|&axis| input.dims[axis] > 1);
        let single = matches!(kind, Reduction::ArgMax | Reduction::ArgMin);
        let by_rows = !single && last.is_some_and(|axis| !axes.contains(&axis));
        let count = axes.iter().map(|&axis| input.dims[axis]).product();
        let (from, from_samples) = operands.input(0, input)?;
        // Both walks see all axes; the axes of the other one have size 1.
        let only = |inside: bool| {
            let mut others = (0..input.rank()).filter(|axis| axes.contains(axis) != inside);
            others.try_fold(from, |of, axis| of.sliced(axis, 0, 1, 1))
        };
        let (kept, reduced) = (only(false)?, only(true)?);
        let to = Strided::whole(output).viewed(&kept.dims)?;
        let (to, to_samples) = operands.output(to)?;
        let samples = [from_samples, to_samples];
        Some(Reduce {
            kind,
            kept: match by_rows {
                true => Walk::new([kept, to], samples),
                false => Walk::points([kept, to], samples),
            },
            reduced: match by_rows {
                true => Walk::points([reduced], [0]),
                false => Walk::new([reduced], [0]),
            },
            count,
            by_rows,
        })
    }

    pub(super) fn split(&self, samples: usize, threads: usize) -> Split {
        let each = self.kept.len * self.count;
        Split::new(samples * self.kept.runs(), GRAIN / each.max(1), threads)
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    pub(super) unsafe fn run(&self, call: &Call<'_>, task: usize) {
        let pass = ReducePass {
            of: self,
            // SAFETY: a step never reads the slot that it writes.
            from: unsafe { Source::Input(0).floats(call) },
            out: output(call),
            runs: self.split(call.samples, call.threads).range(task),
        };
        // SAFETY: the family is available; tasks have disjoint runs.
        unsafe { vector::dispatch(call.family, pass) }
    }
}

/// The runs of one task.
struct ReducePass<'a> {
    of: &'a Reduce,
    from: &'a [f32],
    out: OutputFloats<'a>,
    runs: Range<usize>,
}

impl Vectorised for ReducePass<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        use Reduction as R;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.of.kind {
                R::Sum | R::Mean => self.fold(0.0, |sum, v| sum + v, |a, b| a + b),
                R::L1 => self.fold(0.0, |sum, v: f32| sum + v.abs(), |a, b| a + b),
                R::L2 | R::SumOfSquares => self.fold(0.0, |sum, v| sum + v * v, |a, b| a + b),
                R::Product => self.fold(1.0, |all, v| all * v, |a, b| a * b),
                R::Max => self.fold(f32::NEG_INFINITY, most, most),
                R::Min => self.fold(f32::INFINITY, least, least),
                R::ArgMax => self.positions(|best, v| v > best),
                R::ArgMin => self.positions(|best, v| v < best),
            }
        }
    }
}

impl ReducePass<'_> {
    /// Folds with `f` from `start` on; `join` makes one of two parts.
    ///
    /// # Safety
    /// Nothing else uses the task's runs of the answer.
    #[inline(always)]
    unsafe fn fold(&self, start: f32, f: impl Fn(f32, f32) -> f32, join: impl Fn(f32, f32) -> f32) {
        let kept = &self.of.kept;
        let mut at = kept.at(self.runs.start);
        for _ in self.runs.clone() {
            let [from, to] = at.at;
            if self.of.by_rows {
                // SAFETY: guaranteed by the caller.
                let row = unsafe { self.out.run(to, kept.len) };
                self.rows(from, start, &f, row);
                row.iter_mut().for_each(|v| *v = self.finished(*v));
            } else {
                let value = self.all(from, start, &f, &join);
                // SAFETY: guaranteed by the caller.
                unsafe { self.out.set(to, self.finished(value)) };
            }
            at.advance();
        }
    }

    /// Adds rows to a row.
    #[inline(always)]
    fn rows(&self, from: usize, start: f32, f: impl Fn(f32, f32) -> f32, row: &mut [f32]) {
        let step = self.of.kept.steps[0];
        row.fill(start);
        let mut at = self.of.reduced.at(0);
        for _ in 0..self.of.reduced.runs() {
            let values = &self.from[from + at.at[0]..];
            if step == 1 {
                for (sum, &v) in row.iter_mut().zip(values) {
                    *sum = f(*sum, v);
                }
            } else {
                for (sum, &v) in row.iter_mut().zip(values.iter().step_by(step)) {
                    *sum = f(*sum, v);
                }
            }
            at.advance();
        }
    }

    /// Returns one value for all from `from` on, in lanes that the compiler makes vectors of.
    #[inline(always)]
    fn all(
        &self,
        from: usize,
        start: f32,
        f: impl Fn(f32, f32) -> f32,
        join: impl Fn(f32, f32) -> f32,
    ) -> f32 {
        let Walk { len, steps, .. } = self.of.reduced;
        let mut lanes = [start; LINE];
        let mut at = self.of.reduced.at(0);
        for _ in 0..self.of.reduced.runs() {
            let values = &self.from[from + at.at[0]..];
            if steps[0] == 1 {
                let lines = values[..len].chunks_exact(LINE);
                for (lane, &v) in lanes.iter_mut().zip(lines.remainder()) {
                    *lane = f(*lane, v);
                }
                for line in lines {
                    for (lane, &v) in lanes.iter_mut().zip(line) {
                        *lane = f(*lane, v);
                    }
                }
            } else {
                let values = values.iter().step_by(steps[0]).take(len);
                lanes[0] = values.fold(lanes[0], |all, &v| f(all, v));
            }
            at.advance();
        }
        lanes.into_iter().fold(start, join)
    }

    #[inline(always)]
    fn finished(&self, value: f32) -> f32 {
        match self.of.kind {
            Reduction::Mean => value / self.of.count as f32,
            Reduction::L2 => value.sqrt(),
            _ => value,
        }
    }

    /// Writes the first position of the best value of each row.
    ///
    /// # Safety
    /// As for [`ReducePass::fold`].
    #[inline(always)]
    unsafe fn positions(&self, is_better: impl Fn(f32, f32) -> bool) {
        let Walk { len, steps, .. } = self.of.reduced;
        let mut at = self.of.kept.at(self.runs.start);
        for _ in self.runs.clone() {
            let values = self.from[at.at[0]..]
                .iter()
                .step_by(steps[0].max(1))
                .take(len);
            let mut best = (0, self.from[at.at[0]]);
            for (position, &v) in values.enumerate() {
                if is_better(best.1, v) {
                    best = (position, v);
                }
            }
            // SAFETY: guaranteed by the caller.
            unsafe { self.out.set(at.at[1], best.0 as f32) };
            at.advance();
        }
    }
}
