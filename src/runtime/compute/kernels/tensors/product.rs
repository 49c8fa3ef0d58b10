//! Products of matrices of activations. The right matrix is packed into panels as needed, the left
//! one is read in place. Each may be transposed or one of several heads.

use std::ops::Range;

use super::super::buffer::LINE;
use super::super::memory::OutputFloats;
use super::super::panels::{Panels, TileShape, even_tiles};
use super::super::task::{Call, Scratch, Split};
use super::super::tile::{Prefetch, Tile, tile_fn};
use super::operands::{PlacedOperands, Source, output};
use super::tiles::StridedMatrix;
use super::walk::Walk;
use crate::compute::tensors::Strided;

/// Products of the matrices of all axes before the last two.
#[derive(Clone, Debug)]
pub(in crate::compute) struct ActivationProduct {
    left: Strided,
    right: Strided,
    output: Strided,
    /// The walk over all three, with one matrix as a run.
    matrices: Walk<3>,
    panels: Panels,
}

/// Tasks for each thread, so that threads finish at about the same time.
const TASKS_A_THREAD: usize = 4;

/// The least rows of a task, so that a panel is packed for many.
const LEAST_ROWS: usize = 48;

/// Rows and panels of all matrices, divided into tasks.
struct ProductTasks {
    matrices: usize,
    rows: Split,
    panels: Split,
}

impl ProductTasks {
    fn tasks(&self) -> usize {
        self.matrices * self.rows.tasks() * self.panels.tasks()
    }

    /// Returns the matrix, the rows and the panels of a task.
    fn ranges(&self, task: usize) -> (usize, Range<usize>, Range<usize>) {
        let (rows, panels) = (self.rows.tasks(), self.panels.tasks());
        let (matrix, block) = (task / (rows * panels), task % (rows * panels));
        (
            matrix,
            self.rows.range(block / panels),
            self.panels.range(block % panels),
        )
    }
}

impl ActivationProduct {
    pub(super) fn new(
        operands: &PlacedOperands<'_>,
        [left, right, output]: [Strided; 3],
        shape: TileShape,
    ) -> Option<Self> {
        let rank = output.rank();
        let (left, left_samples) = operands.input(0, left)?;
        let (right, right_samples) = operands.input(1, right)?;
        let (output, samples) = operands.output(output)?;
        let leading = [left, right, output].map(|of| of.leading(rank - 2));
        Some(ActivationProduct {
            matrices: Walk::points(leading, [left_samples, right_samples, samples]),
            panels: Panels {
                depth: left.dims[rank - 1],
                columns: right.dims[rank - 1],
                shape,
            },
            left,
            right,
            output,
        })
    }

    /// Returns the stride of the axis `back` axes before the last one.
    fn stride(of: &Strided, back: usize) -> usize {
        of.stride(of.rank() - 1 - back)
    }

    fn rows(&self) -> usize {
        self.left.dims[self.left.rank() - 2]
    }

    /// Returns whether the left rows are read in place.
    fn is_read_in_place(&self) -> bool {
        self.left.is_run(self.left.rank() - 1)
    }

    fn blocks(&self, samples: usize, threads: usize) -> ProductTasks {
        let matrices = samples * self.matrices.runs();
        let wanted = if threads > 1 {
            (threads * TASKS_A_THREAD).div_ceil(matrices.max(1))
        } else {
            1
        };
        let panels = Split::at_most(self.panels.count(), self.panels.count().div_ceil(wanted));
        let rows = self.rows();
        let most = rows
            .div_ceil(wanted.div_ceil(panels.tasks()))
            .max(LEAST_ROWS);
        ProductTasks {
            matrices,
            rows: Split::at_most(rows, most),
            panels,
        }
    }

    pub(super) fn tasks(&self, samples: usize, threads: usize) -> usize {
        self.blocks(samples, threads).tasks()
    }

    fn panel_floats(&self) -> usize {
        let panels = self.panels;
        (panels.depth * panels.padded_columns().min(panels.shape.columns())).next_multiple_of(LINE)
    }

    /// Returns the most rows of a tile.
    fn tile_rows(&self) -> usize {
        let shape = self.panels.shape;
        (1..=shape.vectors)
            .map(|v| shape.rows(v))
            .max()
            .unwrap_or(1)
    }

    pub(super) fn scratch(&self) -> Scratch {
        let copied = if self.is_read_in_place() {
            0
        } else {
            self.tile_rows() * self.panels.depth
        };
        Scratch {
            own: self.panel_floats() + copied,
            shared: 0,
            offsets: self.rows().max(self.tile_rows()),
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    pub(super) unsafe fn run(&self, call: &mut Call<'_>, task: usize) {
        let (matrix, rows, panels) = self.blocks(call.samples, call.threads).ranges(task);
        let [left, right, to] = self.matrices.at(matrix).at;
        let row = Self::stride(&self.left, 1);
        let row = if self.is_read_in_place() {
            row
        } else {
            self.panels.depth
        };
        call.offsets.clear();
        call.offsets.extend((0..rows.len()).map(|r| r * row));
        // SAFETY: a step never reads the slot that it writes.
        let [lefts, rights] = [0, 1].map(|i| unsafe { Source::Input(i).floats(call) });
        let left = StridedMatrix {
            data: &lefts[left..],
            line: Self::stride(&self.left, 1),
            column: Self::stride(&self.left, 0),
        };
        let right = StridedMatrix {
            data: &rights[right..],
            line: Self::stride(&self.right, 1),
            column: Self::stride(&self.right, 0),
        };
        let block = ProductRows {
            left: left.from(rows.start, 0),
            right,
            rows: rows.len(),
            out: output(call),
            to: to + rows.start * Self::stride(&self.output, 1),
        };
        for panel in panels {
            // SAFETY: guaranteed by the caller; the offsets are those of the rows.
            unsafe { self.panel(call, &block, panel) };
        }
    }

    /// Computes one panel, tile by tile.
    ///
    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run); the call's offsets are
    /// those of the block's rows.
    unsafe fn panel(&self, call: &Call<'_>, block: &ProductRows<'_>, index: usize) {
        let panel = self.panels.panel(index);
        let own = call.memory.own_scratch(call.thread);
        let (packed, copied) = (own.start, own.start + self.panel_floats());
        // SAFETY: the scratch is this thread's own.
        let floats = unsafe { call.memory.floats_mut(packed..copied) };
        block.right.pack(self.panels, panel, 1.0, floats);
        let lanes = self.panels.shape.lanes;
        let columns = (panel.vectors - 1) * lanes + panel.last;
        let row = Self::stride(&self.output, 1);
        for rows in even_tiles(block.rows, self.panels.shape.rows(panel.vectors)) {
            let left = block.left.from(rows.start, 0);
            let base = if self.is_read_in_place() {
                let reach = (rows.len() - 1) * left.line + self.panels.depth;
                left.data[..reach].as_ptr()
            } else {
                let end = copied + rows.len() * self.panels.depth;
                // SAFETY: as above.
                let to = unsafe { call.memory.floats_mut(copied..end) };
                copy_rows(left, self.panels.depth, to);
                to.as_ptr()
            };
            let at = block.to + rows.start * row + panel.column;
            let tile = Tile {
                base,
                rows: call.offsets.as_ptr(),
                rows_stride: 0,
                taps: 1,
                depth: self.panels.depth,
                panel: call.memory.ptr(packed),
                prefetch: Prefetch::NOTHING,
                bias: std::ptr::null(),
                residual: std::ptr::null(),
                residual_stride: 0,
                out: block.out.ptr(at, (rows.len() - 1) * row + columns),
                out_stride: row,
                vectors: panel.vectors,
                last: panel.last,
                activation: None,
            };
            let run = tile_fn(call.family, panel.vectors, rows.len());
            // SAFETY: the rows lie inside of the left operand or its copy, the panel is packed,
            // and the answer's rows are this task's.
            unsafe { run(&tile) };
        }
    }
}

/// Rows of one task.
struct ProductRows<'a> {
    left: StridedMatrix<'a>,
    right: StridedMatrix<'a>,
    rows: usize,
    out: OutputFloats<'a>,
    /// The float of the answer at which the first row begins.
    to: usize,
}

/// Copies rows whose values are not contiguous.
fn copy_rows(from: StridedMatrix<'_>, depth: usize, to: &mut [f32]) {
    for (row, to) in to.chunks_exact_mut(depth.max(1)).enumerate() {
        let values = from.data[row * from.line..].iter();
        for (to, v) in to.iter_mut().zip(values.step_by(from.column.max(1))) {
            *to = *v;
        }
    }
}
