//! Functions of one, two and three values, repeated along sizes of 1 as in NumPy.

use super::super::memory::OutputFloats;
use super::super::task::{Call, Split};
use super::super::vector::{self, Vector, Vectorised};
use super::arithmetic::{binary, choose, unary};
use super::operands::{PlacedOperands, Source, output};
use super::walk::Walk;
use crate::compute::tensors::Strided;
use crate::network::{Binary, Dims, TensorOp, Unary};

/// A function with its operands.
#[derive(Clone, Debug)]
pub(in crate::compute) struct Pairs {
    function: Function,
    sources: [Source; 3],
    /// The walk over the operands and the answer; missing operands repeat the first one.
    walk: Walk<4>,
}

#[derive(Clone, Copy, Debug)]
enum Function {
    One(Unary),
    Two(Binary),
    /// The second operand if the first is not 0, else the third.
    Choice,
}

/// The least floats of a task.
const GRAIN: usize = 4 * 1024;

impl Pairs {
    pub(super) fn new(
        op: TensorOp,
        operands: &PlacedOperands<'_>,
        inputs: &[Strided],
        output: Dims,
    ) -> Option<Self> {
        let input = Source::Input;
        let (function, sources) = match op {
            TensorOp::Unary { kind } => (Function::One(kind), [input(0); 3]),
            TensorOp::Binary { kind } => (Function::Two(kind), [input(0), input(1), input(0)]),
            TensorOp::With { kind, first, .. } => {
                let pair = match first {
                    true => [Source::Parameters, input(0)],
                    false => [input(0), Source::Parameters],
                };
                (Function::Two(kind), [pair[0], pair[1], input(0)])
            }
            TensorOp::Where => (Function::Choice, [input(0), input(1), input(2)]),
            _ => return None,
        };
        let place = |source: Source| match (source, op) {
            (Source::Input(at), _) => {
                let of = inputs.get(at)?.expanded(&output)?;
                operands.input(at, of)
            }
            (Source::Parameters, TensorOp::With { dims, .. }) => {
                Some((Strided::whole(dims).expanded(&output)?, 0))
            }
            _ => None,
        };
        let [a, b, c] = sources.map(place);
        let ((a, a_samples), (b, b_samples), (c, c_samples)) = (a?, b?, c?);
        let (to, to_samples) = operands.output(Strided::whole(output))?;
        let samples = [a_samples, b_samples, c_samples, to_samples];
        Some(Pairs {
            function,
            sources,
            walk: Walk::new([a, b, c, to], samples),
        })
    }

    pub(super) fn split(&self, samples: usize, threads: usize) -> Split {
        let runs = samples * self.walk.runs();
        Split::new(runs, GRAIN / self.walk.len.max(1), threads)
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    pub(super) unsafe fn run(&self, call: &Call<'_>, task: usize) {
        let pass = PairsPass {
            of: self,
            // SAFETY: a step never reads the slot that it writes.
            from: self.sources.map(|s| unsafe { s.floats(call) }),
            out: output(call),
            runs: self.split(call.samples, call.threads).range(task),
        };
        // SAFETY: the family is available; tasks have disjoint runs.
        unsafe { vector::dispatch(call.family, pass) }
    }
}

/// The runs of one task.
struct PairsPass<'a> {
    of: &'a Pairs,
    from: [&'a [f32]; 3],
    out: OutputFloats<'a>,
    runs: std::ops::Range<usize>,
}

impl Vectorised for PairsPass<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let walk = &self.of.walk;
        let [a, b, c, _] = walk.steps;
        let mut at = walk.at(self.runs.start);
        for _ in self.runs.clone() {
            let from = |n: usize| &self.from[n][at.at[n]..];
            // SAFETY: tasks have disjoint runs; the family's instructions are enabled here.
            unsafe {
                let out = self.out.run(at.at[3], walk.len);
                match self.of.function {
                    Function::One(kind) => unary::<V>(kind, from(0), a, out),
                    Function::Two(kind) => binary(kind, [from(0), from(1)], [a, b], out),
                    Function::Choice => choose([from(0), from(1), from(2)], [a, b, c], out),
                }
            }
            at.advance();
        }
    }
}
