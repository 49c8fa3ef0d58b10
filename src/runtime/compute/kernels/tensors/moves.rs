//! Operations that move values: transposes, slices, joins, borders and repetition.

use super::super::memory::OutputFloats;
use super::super::task::{Call, MAX_PHASES, Split};
use super::super::vector::{self, Vector, Vectorised};
use super::operands::{PlacedOperands, Source, output};
use super::walk::Walk;
use crate::compute::tensors::Strided;
use crate::network::{Border, Dims, Shape, TensorOp};

/// Copies from tensors into a tensor, and the values written there first.
#[derive(Clone, Debug)]
pub(in crate::compute) struct Moves {
    moves: Vec<TensorCopy>,
    /// A value for the whole answer before the copies.
    fill: Option<(f32, Walk<1>)>,
}

/// One copy.
#[derive(Clone, Debug)]
struct TensorCopy {
    source: Source,
    /// The walk over the source and the answer.
    walk: Walk<2>,
    /// Size and strides of an axis along which the source is contiguous, if the answer is
    /// contiguous along another axis. It is walked in blocks.
    across: Option<(usize, [usize; 2])>,
}

/// Rows and columns of the blocks of a transpose; a row is a cache line.
const BLOCK: usize = 16;

/// The least floats of a task.
const GRAIN: usize = 4 * 1024;

impl Moves {
    pub(super) fn new(
        op: TensorOp,
        operands: &PlacedOperands<'_>,
        inputs: &[Strided],
        output: Dims,
    ) -> Option<Self> {
        let whole = Strided::whole(output);
        let mut fill = None;
        let moves = match op {
            // The places of the values were found together with the steps; strides cannot be
            // negative.
            TensorOp::Slice { step, .. } if step < 0 => return None,
            TensorOp::Transpose { .. } | TensorOp::Slice { .. } => {
                let from = Some(inputs[0]).filter(|from| from.dims == output)?;
                vec![TensorCopy::new(operands, from, whole)?]
            }
            TensorOp::View { .. } => {
                vec![TensorCopy::viewed(operands, inputs[0], whole)?]
            }
            TensorOp::Part { first, shape } => {
                let from = channels_slowest(shape, first);
                vec![TensorCopy::new(operands, from, whole)?]
            }
            TensorOp::Expand { dims } => {
                vec![TensorCopy::new(
                    operands,
                    inputs[0].expanded(&dims)?,
                    whole,
                )?]
            }
            TensorOp::Constant { .. } => vec![TensorCopy::constant(operands, whole)?],
            TensorOp::Join { axis } => joined(operands, inputs, whole, axis)?,
            TensorOp::Row => row(operands, inputs)?,
            TensorOp::Pad {
                before,
                border: Border::Constant(value),
                ..
            } => {
                let (to, samples) = operands.output(whole)?;
                fill = Some((value, Walk::new([to], [samples])));
                let inside = (0..before.rank()).try_fold(whole, |to, axis| {
                    to.sliced(axis, before[axis], inputs[0].dims[axis], 1)
                })?;
                vec![TensorCopy::new(operands, inputs[0], inside)?]
            }
            _ => return None,
        };
        Some(Moves { moves, fill })
    }

    /// Divides copy `index`.
    fn split(&self, index: usize, samples: usize, threads: usize) -> Split {
        let walk = &self.moves[index].walk;
        let run = walk.len * self.moves[index].across.map_or(1, |_| BLOCK);
        Split::new(samples * walk.runs(), GRAIN / run.max(1), threads)
    }

    pub(super) fn phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        let all = (0..self.moves.len()).map(|i| self.split(i, samples, threads).tasks());
        let copies = all.sum();
        match &self.fill {
            Some(fill) => [fill_split(fill, samples, threads).tasks(), copies, 0, 0],
            None => [copies, 0, 0, 0],
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    pub(super) unsafe fn run(&self, call: &Call<'_>, phase: usize, task: usize) {
        if let Some(fill) = self.fill.as_ref().filter(|_| phase == 0) {
            let runs = fill_split(fill, call.samples, call.threads).range(task);
            let (out, mut at) = (output(call), fill.1.at(runs.start));
            for _ in runs {
                // SAFETY: tasks have disjoint runs.
                unsafe { out.run(at.at[0], fill.1.len) }.fill(fill.0);
                at.advance();
            }
            return;
        }
        let mut task = task;
        for (index, part) in self.moves.iter().enumerate() {
            let split = self.split(index, call.samples, call.threads);
            if task < split.tasks() {
                let copy = CopyPass {
                    part,
                    // SAFETY: a step never reads the slot that it writes.
                    from: unsafe { part.source.floats(call) },
                    out: output(call),
                    runs: split.range(task),
                };
                // SAFETY: the family is available; tasks have disjoint runs.
                return unsafe { vector::dispatch(call.family, copy) };
            }
            task -= split.tasks();
        }
    }
}

fn fill_split(fill: &(f32, Walk<1>), samples: usize, threads: usize) -> Split {
    let runs = samples * fill.1.runs();
    Split::new(runs, GRAIN / fill.1.len.max(1), threads)
}

impl TensorCopy {
    /// Plans the copy of `from`, in the first input's slot, to `to`.
    fn new(operands: &PlacedOperands<'_>, from: Strided, to: Strided) -> Option<Self> {
        TensorCopy::placed(operands, 0, from, to)
    }

    fn placed(
        operands: &PlacedOperands<'_>,
        input: usize,
        from: Strided,
        to: Strided,
    ) -> Option<Self> {
        let (from, from_samples) = operands.input(input, from)?;
        let (to, to_samples) = operands.output(to)?;
        let mut walk = Walk::new([from, to], [from_samples, to_samples]);
        let crosses = walk.steps[0] > 1 && walk.steps[1] == 1 && walk.len >= BLOCK / 2;
        let across = crosses.then(|| walk.take_run(0, BLOCK / 2)).flatten();
        if let Some((size, strides)) = across {
            walk.in_blocks(size, strides, BLOCK);
        }
        Some(TensorCopy {
            source: Source::Input(input),
            walk,
            across,
        })
    }

    /// Plans the copy of a value to the same values under other dimensions.
    fn viewed(operands: &PlacedOperands<'_>, from: Strided, to: Strided) -> Option<Self> {
        let (from, from_samples) = operands.input(0, from)?;
        let (to, to_samples) = operands.output(to)?;
        let pair = match (from.viewed(&to.dims), to.viewed(&from.dims)) {
            (Some(from), _) => [from, to],
            (None, Some(to)) => [from, to],
            (None, None) => return None,
        };
        Some(TensorCopy {
            source: Source::Input(0),
            walk: Walk::new(pair, [from_samples, to_samples]),
            across: None,
        })
    }

    fn constant(operands: &PlacedOperands<'_>, whole: Strided) -> Option<Self> {
        let (to, samples) = operands.output(whole)?;
        Some(TensorCopy {
            source: Source::Parameters,
            walk: Walk::new([whole, to], [0, samples]),
            across: None,
        })
    }
}

fn joined(
    operands: &PlacedOperands<'_>,
    inputs: &[Strided],
    whole: Strided,
    axis: usize,
) -> Option<Vec<TensorCopy>> {
    let mut first = 0;
    let each = inputs.iter().enumerate().map(|(at, &from)| {
        let to = whole.sliced(axis, first, from.dims[axis], 1)?;
        first += from.dims[axis];
        TensorCopy::placed(operands, at, from, to)
    });
    each.collect()
}

/// Copies into one row, images with their channels slowest.
fn row(operands: &PlacedOperands<'_>, inputs: &[Strided]) -> Option<Vec<TensorCopy>> {
    let mut first = 0;
    let each = inputs.iter().enumerate().map(|(at, &from)| {
        // A row is one long run, which any dimensions fit in.
        let to = Strided::whole(from.dims).moved(first);
        first += from.dims.elements();
        TensorCopy::placed(operands, at, from, to)
    });
    each.collect()
}

/// Returns where the values of a part lie in the row, in the order in which they are held.
fn channels_slowest(shape: Shape, first: usize) -> Strided {
    let dims = shape.stored();
    let order = Dims::new(&[1, 2, 0]);
    match (shape, order) {
        (Shape::Image { .. }, Ok(order)) => {
            let planes = Dims::new(&[dims[2], dims[0], dims[1]]).unwrap_or(dims);
            Strided::whole(planes).moved(first).transposed(&order)
        }
        _ => Strided::whole(dims).moved(first),
    }
}

/// The runs of one task of a copy.
struct CopyPass<'a> {
    part: &'a TensorCopy,
    from: &'a [f32],
    out: OutputFloats<'a>,
    runs: std::ops::Range<usize>,
}

impl Vectorised for CopyPass<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let walk = &self.part.walk;
        let mut at = walk.at(self.runs.start);
        for _ in self.runs.clone() {
            match self.part.across {
                // SAFETY: tasks have disjoint runs.
                None => unsafe { self.copy(at.at) },
                Some((size, strides)) => {
                    let rows = BLOCK.min(size - BLOCK * at.slowest());
                    // SAFETY: as above.
                    unsafe { self.turn(at.at, rows, strides[1]) };
                }
            }
            at.advance();
        }
    }
}

impl CopyPass<'_> {
    /// Copies one run.
    ///
    /// # Safety
    /// Nothing else uses the run of the answer.
    #[inline(always)]
    unsafe fn copy(&self, [from, to]: [usize; 2]) {
        let Walk { len, steps, .. } = self.part.walk;
        let from = &self.from[from..];
        if steps[1] != 1 {
            for i in 0..len {
                // SAFETY: guaranteed by the caller.
                unsafe { self.out.set(to + i * steps[1], from[i * steps[0]]) };
            }
            return;
        }
        // SAFETY: guaranteed by the caller.
        let out = unsafe { self.out.run(to, len) };
        match steps[0] {
            1 => out.copy_from_slice(&from[..len]),
            0 => out.fill(from[0]),
            step => {
                for (o, v) in out.iter_mut().zip(from.iter().step_by(step)) {
                    *o = *v;
                }
            }
        }
    }

    /// Copies `rows` runs of the answer, whose sources are neighbours.
    ///
    /// # Safety
    /// Nothing else uses the runs of the answer.
    #[inline(always)]
    unsafe fn turn(&self, [from, to]: [usize; 2], rows: usize, row: usize) {
        let Walk { len, steps, .. } = self.part.walk;
        for first in (0..len).step_by(BLOCK) {
            let columns = BLOCK.min(len - first);
            for r in 0..rows {
                // SAFETY: guaranteed by the caller.
                let out = unsafe { self.out.run(to + r * row + first, columns) };
                let values = self.from[from + r + first * steps[0]..].iter();
                for (o, v) in out.iter_mut().zip(values.step_by(steps[0])) {
                    *o = *v;
                }
            }
        }
    }
}
