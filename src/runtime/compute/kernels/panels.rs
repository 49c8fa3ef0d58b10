//! Matrices of weights, laid out for products as panels: as wide as a tile, each with its lines
//! one after the other.

use std::ops::Range;

use super::vector::{self, Vector, Vectorised};
use crate::compute::family::Family;
use crate::network::{Conv2d, FilterValues};

/// The shape of a family's tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compute) struct TileShape {
    pub lanes: usize,
    pub vectors: usize,
    rows: [usize; 5],
}

impl TileShape {
    pub(crate) fn for_family(family: Family) -> Self {
        struct Shape;
        impl Vectorised for Shape {
            type Output = TileShape;
            #[inline(always)]
            unsafe fn run<V: Vector>(self) -> TileShape {
                TileShape {
                    lanes: V::LANES,
                    vectors: V::TILE_VECTORS,
                    rows: V::TILE_ROWS,
                }
            }
        }
        if !family.is_available() {
            return TileShape::for_family(Family::Plain);
        }
        // SAFETY: the family is available; reading constants needs nothing else.
        unsafe { vector::dispatch(family, Shape) }
    }

    /// Returns tiles one vector wide, of at most `rows` rows.
    pub(crate) fn narrow(self, rows: usize) -> Self {
        TileShape {
            vectors: 1,
            rows: [0, rows, 0, 0, 0],
            ..self
        }
    }

    /// Returns the same with at most `rows` rows for tiles that are `vectors` wide.
    pub(crate) fn with_rows(mut self, vectors: usize, rows: usize) -> Self {
        self.rows[vectors] = rows;
        self
    }

    /// Returns the most rows of a tile that is `vectors` wide.
    pub(crate) fn rows(&self, vectors: usize) -> usize {
        self.rows[vectors]
    }

    /// Returns the columns of the widest tile.
    pub(crate) fn columns(&self) -> usize {
        self.lanes * self.vectors
    }
}

/// The layout of a `depth × columns` matrix as panels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compute) struct Panels {
    pub depth: usize,
    pub columns: usize,
    pub shape: TileShape,
}

/// One panel of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compute) struct WeightPanel {
    /// First column.
    pub column: usize,
    pub vectors: usize,
    /// Columns of the last vector that exist.
    pub last: usize,
    /// Floats before the panel.
    pub at: usize,
}

impl Panels {
    pub(crate) fn count(&self) -> usize {
        self.columns.div_ceil(self.shape.columns())
    }

    /// Returns the floats of the matrix, with the columns that fill up the last vector.
    pub(crate) fn floats(&self) -> usize {
        self.depth * self.padded_columns()
    }

    /// Returns the number of columns, including the padding of the last vector.
    pub(crate) fn padded_columns(&self) -> usize {
        self.columns.next_multiple_of(self.shape.lanes)
    }

    pub(crate) fn panel(&self, index: usize) -> WeightPanel {
        let column = index * self.shape.columns();
        let columns = (self.columns - column).min(self.shape.columns());
        let vectors = columns.div_ceil(self.shape.lanes);
        WeightPanel {
            column,
            vectors,
            last: columns - (vectors - 1) * self.shape.lanes,
            at: column * self.depth,
        }
    }

    /// Fills `packed` with columns, whose values `column` iterates over from the first line on.
    pub(crate) fn pack<I: Iterator<Item = f32>>(
        &self,
        packed: &mut [f32],
        column: impl Fn(usize) -> I,
    ) {
        for panel in (0..self.count()).map(|i| self.panel(i)) {
            let width = panel.vectors * self.shape.lanes;
            let columns = width - self.shape.lanes + panel.last;
            let panel_floats = &mut packed[panel.at..][..width * self.depth];
            for c in 0..columns {
                let lines = panel_floats[c..].iter_mut().step_by(width);
                for (to, value) in lines.zip(column(panel.column + c)) {
                    *to = value;
                }
            }
        }
    }
}

/// Splits `rows` into tiles of at most `most` rows, as even as possible.
pub(super) fn even_tiles(rows: usize, most: usize) -> impl ExactSizeIterator<Item = Range<usize>> {
    let tiles = rows.div_ceil(most).max(1);
    // Divisions are slow compared to a small tile: these are the only ones.
    let (least, longer) = (rows / tiles, rows % tiles);
    let start = move |tile: usize| tile * least + tile.min(longer);
    (0..tiles).map(move |tile| start(tile)..start(tile + 1))
}

/// A convolution's weights `[out, in / groups, height, width]`, and the scale of each output.
#[derive(Clone, Copy)]
pub(in crate::compute) struct Filters<'a> {
    pub conv: Conv2d,
    pub raw: &'a FilterValues<'a>,
    /// A factor for each output channel; `None` if all are 1.
    pub scale: Option<&'a [f32]>,
    /// Called now and then: weights that were read before are not needed again.
    pub read: &'a dyn Fn(),
}

/// The weights of an output channel, and their destination.
pub(super) struct PackedColumn<'a> {
    /// The output channel.
    pub out: usize,
    /// Its weights, inputs slowest, and their factor.
    pub raw: &'a [f32],
    pub factor: f32,
    /// Floats before its first line, and from one line to the next.
    pub at: usize,
    pub line: usize,
    /// Positions of the kernel.
    area: usize,
}

impl PackedColumn<'_> {
    /// Iterates over the weights' positions in groups of `group` inputs. A group takes the space of
    /// a float, and positions count the numbers within floats.
    pub(super) fn places(&self, group: usize) -> impl Iterator<Item = usize> + use<> {
        let (area, at, line) = (self.area.max(1), self.at, self.line);
        let inputs = self.raw.len() / area;
        let lines = inputs.div_ceil(group);
        (0..inputs).flat_map(move |input| {
            let first = group * (at + input / group * line) + input % group;
            (0..area).map(move |position| first + group * position * lines * line)
        })
    }
}

/// Floats of weights read between two calls of [`Filters::read`].
const READ: usize = 1 << 20;

/// The most floats of weights decoded at a time, in addition to those of one column.
const DECODED: usize = 1 << 16;

/// Inputs of all columns of a panel that are packed at a time: a cache line of each column.
const INPUTS: usize = 16;

impl Filters<'_> {
    /// Returns the input channels of a group.
    pub(crate) fn inputs(&self) -> usize {
        self.raw.len() / (self.conv.channels * self.conv.kernel.area()).max(1)
    }

    /// Returns the output channels of a group.
    pub(crate) fn outputs(&self) -> usize {
        self.conv.channels / self.conv.groups
    }

    /// Returns the factor of output channel `out`.
    pub(crate) fn factor(&self, out: usize) -> f32 {
        self.scale.map_or(1.0, |s| s[out])
    }

    /// Returns the weights of output `out` (counted over all groups) for input `input` of its
    /// group: the lines of the kernel after each other, not scaled.
    pub(crate) fn kernel(&self, out: usize, input: usize) -> &[f32] {
        let area = self.conv.kernel.area();
        &self.raw.all()[(out * self.inputs() + input) * area..][..area]
    }

    /// Fills the panels of all groups; a panel's lines are kernel positions, then inputs.
    pub(crate) fn pack(&self, panels: Panels, packed: &mut [f32]) {
        let mut read = 0;
        let groups = packed.chunks_exact_mut(panels.floats().max(1));
        for (group, packed) in groups.enumerate() {
            for panel in (0..panels.count()).map(|i| panels.panel(i)) {
                let first = group * self.outputs() + panel.column;
                self.pack_panel(panels, panel, first, &mut packed[panel.at..]);
                read += panel.vectors * panels.shape.lanes * panels.depth;
                if read >= READ {
                    (self.read)();
                    read = 0;
                }
            }
        }
    }

    /// Calls `pack` with each column of panels whose lines are groups of `group` inputs at a position
    /// of the kernel.
    pub(super) fn columns(
        &self,
        panels: Panels,
        group: usize,
        mut pack: impl FnMut(PackedColumn<'_>),
    ) {
        let area = self.conv.kernel.area();
        let each = self.inputs() * area;
        let mut read = 0;
        for panel in (0..panels.count()).map(|i| panels.panel(i)) {
            let line = panel.vectors * panels.shape.lanes;
            let columns = line - panels.shape.lanes + panel.last;
            let together = (DECODED / each.max(1)).max(1);
            for first in (0..columns).step_by(together) {
                let some = first..columns.min(first + together);
                let raw = self
                    .raw
                    .read_outputs(panel.column + some.start..panel.column + some.end, each);
                for (at, raw) in some.zip(raw.chunks_exact(each.max(1))) {
                    let out = panel.column + at;
                    pack(PackedColumn {
                        out,
                        raw,
                        factor: self.factor(out),
                        at: panel.at + at,
                        line,
                        area,
                    });
                }
            }
            read += line * panels.depth * group;
            if read >= READ {
                (self.read)();
                read = 0;
            }
        }
    }

    /// Fills one panel, whose first column is output `first`. It takes some inputs of all columns
    /// at a time, so that the written lines stay in cache.
    fn pack_panel(&self, panels: Panels, panel: WeightPanel, first: usize, packed: &mut [f32]) {
        let width = panel.vectors * panels.shape.lanes;
        let columns = width - panels.shape.lanes + panel.last;
        let (inputs, area) = (self.inputs(), self.conv.kernel.area());
        let raw = self.raw.read_outputs(first..first + columns, inputs * area);
        for some in (0..inputs).step_by(INPUTS) {
            let count = INPUTS.min(inputs - some);
            for column in 0..columns {
                let factor = self.factor(first + column);
                let raw = &raw[(column * inputs + some) * area..][..count * area];
                for at in 0..area {
                    let lines = &mut packed[(at * inputs + some) * width + column..];
                    let values = raw[at..].iter().step_by(area);
                    for (to, value) in lines.iter_mut().step_by(width).zip(values) {
                        *to = factor * value;
                    }
                }
            }
        }
    }

    /// Fills the panels of narrow groups of `width`: a panel's lines are kernel positions,
    /// then the inputs of each column's own group.
    pub(crate) fn pack_narrow(&self, width: usize, panels: Panels, packed: &mut [f32]) {
        let area = self.conv.kernel.area();
        panels.pack(packed, |out| {
            let factor = self.factor(out);
            let raw = &self.raw.all()[out * width * area..][..width * area];
            (0..area).flat_map(move |at| (0..width).map(move |i| factor * raw[i * area + at]))
        });
    }
}
