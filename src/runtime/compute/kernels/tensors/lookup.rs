//! Rows of tables, by index. An index outside of its table makes its row NaN, and marks its sample,
//! since not every operation hands NaN on; a negative one counts from the end.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::memory::OutputFloats;
use super::super::task::{Call, Split};
use super::operands::{PlacedOperands, Source, output};
use crate::compute::tensors::Strided;
use crate::network::{Dims, TensorOp};

/// A table `[before, count, after]` and the positions that are taken of its middle axis.
#[derive(Clone, Debug)]
pub(in crate::compute) struct Lookup {
    table: Source,
    indices: Source,
    before: usize,
    count: usize,
    /// Floats of a row.
    after: usize,
    /// Positions that are taken.
    listed: usize,
    /// Floats from one sample to the next, of the table, the indices and the answer.
    samples: [usize; 3],
}

/// The least floats of a task.
const GRAIN: usize = 4 * 1024;

impl Lookup {
    pub(super) fn new(
        op: TensorOp,
        operands: &PlacedOperands<'_>,
        inputs: &[Strided],
        output: Dims,
    ) -> Option<Self> {
        // Rows are found by their number, so all lie in one piece.
        let piece = |at: usize| {
            let view = operands.inputs.get(at)?;
            (view.pitch == view.channels).then(|| view.sample_stride())
        };
        let to = operands.output;
        if to.pitch != to.channels {
            return None;
        }
        let elements = |of: &[usize]| of.iter().product::<usize>();
        let dims = inputs[0].dims;
        let (table, indices, axis, listed) = match op {
            TensorOp::Embedding { .. } => (None, Some(0), 0, dims.elements()),
            TensorOp::Take { axis, indices } => (Some(0), None, axis, indices.elements()),
            TensorOp::Gather { axis } => (Some(0), Some(1), axis, inputs.get(1)?.dims.elements()),
            _ => return None,
        };
        let (before, count, after) = match op {
            TensorOp::Embedding { rows, features } => (1, rows, features),
            _ => (
                elements(&dims[..axis]),
                dims[axis],
                elements(&dims[axis + 1..]),
            ),
        };
        let source = |input: Option<usize>| input.map_or(Source::Parameters, Source::Input);
        let samples = |input: Option<usize>| input.map_or(Some(0), piece);
        let whole = before * listed * after == output.elements();
        Some(Lookup {
            table: source(table),
            indices: source(indices),
            before,
            count,
            after,
            listed,
            samples: [samples(table)?, samples(indices)?, to.sample_stride()],
        })
        .filter(|_| whole)
    }

    pub(super) fn split(&self, samples: usize, threads: usize) -> Split {
        let rows = samples * self.before * self.listed;
        Split::new(rows, GRAIN / self.after.max(1), threads)
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    pub(super) unsafe fn run(&self, call: &Call<'_>, task: usize) {
        let rows = self.split(call.samples, call.threads).range(task);
        // SAFETY: a step never reads the slot that it writes.
        let [table, indices] = [self.table, self.indices].map(|s| unsafe { s.floats(call) });
        // SAFETY: tasks have disjoint rows.
        unsafe { self.rows(rows, [table, indices], output(call), call.misses) }
    }

    /// # Safety
    /// Nothing else uses these rows of the answer.
    unsafe fn rows(
        &self,
        rows: Range<usize>,
        [table, indices]: [&[f32]; 2],
        out: OutputFloats<'_>,
        misses: &[AtomicBool],
    ) {
        let of_sample = self.before * self.listed;
        for row in rows {
            let (sample, row) = (row / of_sample, row % of_sample);
            let (before, at) = (row / self.listed, row % self.listed);
            let to = sample * self.samples[2] + row * self.after;
            // SAFETY: guaranteed by the caller.
            let to = unsafe { out.run(to, self.after) };
            match self.position(indices[sample * self.samples[1] + at]) {
                Some(position) => {
                    let row = (before * self.count + position) * self.after;
                    let from = sample * self.samples[0] + row;
                    to.copy_from_slice(&table[from..from + self.after]);
                }
                None => {
                    to.fill(f32::NAN);
                    misses[sample].store(true, Ordering::Relaxed);
                }
            }
        }
    }

    /// Returns the position of an index, or `None` if it is out of range.
    fn position(&self, index: f32) -> Option<usize> {
        let count = self.count as f32;
        let index = if index < 0.0 { index + count } else { index };
        (index >= 0.0 && index < count).then_some(index as usize)
    }
}
