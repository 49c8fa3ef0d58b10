//! Weights of reduced precision, laid out for products: a group of a column in the place of a float.

use half::bf16;

use super::super::panels::{Filters, Panels, READ};

/// Inputs that are multiplied at a time.
const GROUP: usize = 2;

/// Lays weights out as brain floats; `packed` has as many zeros as the panels have floats. A line of
/// the panels is two inputs at a position of the kernel.
pub(super) fn pack(filters: Filters<'_>, panels: Panels, packed: &mut [f32]) {
    let bits: &mut [u16] = bytemuck::cast_slice_mut(packed);
    let area = filters.conv.kernel.area();
    let each = filters.inputs() * area;
    let mut read = 0;
    for panel in (0..panels.count()).map(|i| panels.panel(i)) {
        let width = panel.vectors * panels.shape.lanes;
        let columns = width - panels.shape.lanes + panel.last;
        let outputs = panel.column..panel.column + columns;
        let raw = filters.raw.of(outputs.clone(), each);
        for (at, out) in outputs.enumerate() {
            let column = Column {
                raw: &raw[at * each..][..each],
                factor: filters.factor(out),
                area,
            };
            column.lay_out(&mut bits[GROUP * (panel.at + at)..], GROUP * width);
        }
        read += width * panels.depth * GROUP;
        if read >= READ {
            (filters.read)();
            read = 0;
        }
    }
}

/// The weights of an output channel, which have a factor.
struct Column<'a> {
    raw: &'a [f32],
    factor: f32,
    /// Positions of the kernel.
    area: usize,
}

impl Column<'_> {
    /// Writes the weights, `line` numbers from one line to the next.
    fn lay_out(&self, to: &mut [u16], line: usize) {
        let area = self.area.max(1);
        let lines = (self.raw.len() / area).div_ceil(GROUP);
        for (input, weights) in self.raw.chunks_exact(area).enumerate() {
            for (at, weight) in weights.iter().enumerate() {
                let place = (at * lines + input / GROUP) * line + input % GROUP;
                to[place] = bf16::from_f32(self.factor * weight).to_bits();
            }
        }
    }
}
