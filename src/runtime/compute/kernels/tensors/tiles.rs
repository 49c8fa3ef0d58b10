//! Matrices among the floats of a sample, packed as panels for the tiles of products.

use super::super::panels::{Panels, WeightPanel};

/// A matrix `[lines, columns]`, and the floats from one line and one column to the next.
#[derive(Clone, Copy)]
pub(super) struct StridedMatrix<'a> {
    pub data: &'a [f32],
    pub line: usize,
    pub column: usize,
}

/// Lines of a block of a transpose.
const BLOCK: usize = 16;

impl StridedMatrix<'_> {
    /// Returns the matrix from a line and a column on.
    pub(super) fn from(&self, line: usize, column: usize) -> Self {
        StridedMatrix {
            data: &self.data[line * self.line + column * self.column..],
            ..*self
        }
    }

    /// Lays out one panel, each value times `factor`; `to` has the panel's floats.
    pub(super) fn pack(&self, panels: Panels, panel: WeightPanel, factor: f32, to: &mut [f32]) {
        let width = panel.vectors * panels.shape.lanes;
        let columns = width - panels.shape.lanes + panel.last;
        let from = self.from(0, panel.column);
        let to = &mut to[..width * panels.depth];
        if columns < width {
            let ends = to.chunks_exact_mut(width).map(|line| &mut line[columns..]);
            ends.for_each(|end| end.fill(0.0));
        }
        if self.column == 1 {
            for (line, to) in to.chunks_exact_mut(width).enumerate() {
                let values = &from.data[line * self.line..][..columns];
                for (to, v) in to.iter_mut().zip(values) {
                    *to = v * factor;
                }
            }
            return;
        }
        for first in (0..panels.depth).step_by(BLOCK) {
            let lines = BLOCK.min(panels.depth - first);
            let block = &mut to[first * width..][..lines * width];
            for column in 0..columns {
                let values = &from.data[first * self.line + column * self.column..];
                let to = block.chunks_exact_mut(width).map(|line| &mut line[column]);
                if self.line == 1 {
                    to.zip(&values[..lines])
                        .for_each(|(to, v)| *to = v * factor);
                } else {
                    let values = values.iter().step_by(self.line.max(1));
                    to.zip(values).for_each(|(to, v)| *to = v * factor);
                }
            }
        }
    }
}
