//! Tiles that hold values which are not finite, or are near overflow.
//!
//! The transforms mix all values of a tile, so that one infinity would make all of its
//! outputs NaN. Where outputs are not finite they are computed again, directly, from
//! weights that are transformed back: slower by far, but like any other convolution.

use crate::compute::view::View;

use super::super::memory::Source;
use super::super::panels::Panels;
use super::super::vector::{Vector, Vectorised};
use super::axis::{Axis, MAX_POINTS};
use super::grid::{Grid, Spot};

/// Most taps of a filter's side.
const MAX_TAPS: usize = 7;

/// Most floats of a vector.
const MAX_LANES: usize = 16;

/// Outputs of one vector of channels of a tile, a line after the other.
pub(super) type Outputs = [[f32; MAX_LANES]; MAX_POINTS * MAX_POINTS];

/// The inverse of both sides' transforms of filters: `taps` rows of a factor for each
/// point.
#[derive(Clone, Debug)]
pub(super) struct Inverse([Vec<Vec<f32>>; 2]);

impl Inverse {
    pub fn new(sides: [Axis; 2]) -> Self {
        Inverse(sides.map(|side| inverse(&side.filter(), side.taps)))
    }
}

/// `taps` rows that give the identity with the first `taps` rows of `transform`, which
/// are independent; by Gauss and Jordan.
fn inverse(transform: &[Vec<f64>], taps: usize) -> Vec<Vec<f32>> {
    let mut left: Vec<Vec<f64>> = transform[..taps].to_vec();
    let identity = |i: usize| (0..taps).map(move |j| f64::from(u8::from(i == j)));
    let mut right: Vec<Vec<f64>> = (0..taps).map(|i| identity(i).collect()).collect();
    for pivot in 0..taps {
        let larger =
            |&a: &usize, &b: &usize| f64::total_cmp(&left[a][pivot].abs(), &left[b][pivot].abs());
        let best = (pivot..taps).max_by(larger).unwrap_or(pivot);
        left.swap(pivot, best);
        right.swap(pivot, best);
        let by = left[pivot][pivot];
        let scale = |row: &mut Vec<f64>| row.iter_mut().for_each(|v| *v /= by);
        scale(&mut left[pivot]);
        scale(&mut right[pivot]);
        for row in (0..taps).filter(|&r| r != pivot) {
            let by = left[row][pivot];
            for j in 0..taps {
                left[row][j] -= by * left[pivot][j];
                right[row][j] -= by * right[pivot][j];
            }
        }
    }
    let narrow = |row: Vec<f64>| row.into_iter().map(|v| v as f32).collect();
    right.into_iter().map(narrow).collect()
}

/// Sums one vector of output channels of one tile directly.
pub(super) struct Exact<'a> {
    pub grid: &'a Grid,
    pub inverse: &'a Inverse,
    pub input: Source<'a>,
    pub panels: Panels,
    pub weights: &'a [f32],
    pub output: View,
    pub spot: Spot,
    pub channel: usize,
    pub outputs: &'a mut Outputs,
}

impl Vectorised for Exact<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let columns = self.grid.sides[1].outputs;
        let kept = self.grid.kept(self.spot, self.output);
        for output in &mut *self.outputs {
            output.fill(0.0);
        }
        for input in 0..self.panels.depth {
            // SAFETY: the vector lies inside of its panel; outputs hold a whole one.
            unsafe {
                let filter = self.filter::<V>(input);
                for y in 0..kept[0] {
                    for x in 0..kept[1] {
                        let to = self.outputs[y * columns + x].as_mut_ptr();
                        self.add(filter, input, [y, x], to);
                    }
                }
            }
        }
    }
}

impl Exact<'_> {
    /// The filters of a vector of outputs for channel `input`, transformed back.
    #[inline(always)]
    unsafe fn filter<V: Vector>(&self, input: usize) -> [[V; MAX_TAPS]; MAX_TAPS] {
        let [rows, columns] = &self.inverse.0;
        let (height, width) = (rows.len(), columns.len());
        let points = self.grid.sides[1].points;
        // SAFETY: as the caller says.
        unsafe {
            let zero = V::splat(0.0);
            let mut filter = [[zero; MAX_TAPS]; MAX_TAPS];
            for y in 0..height {
                for x in 0..width {
                    let mut sum = zero;
                    for i in 0..height {
                        for j in 0..width {
                            let factor = V::splat(rows[y][i] * columns[x][j]);
                            sum = sum.mul_add(factor, self.weight(i * points + j, input));
                        }
                    }
                    filter[y][x] = sum;
                }
            }
            filter
        }
    }

    /// The weights of point `point` from channel `input` to the vector of outputs.
    #[inline(always)]
    unsafe fn weight<V: Vector>(&self, point: usize, input: usize) -> V {
        let index = self.channel / self.panels.shape.columns();
        let panel = self.panels.panel(index);
        let line = panel.at + input * panel.vectors * V::LANES + self.channel - panel.column;
        let values = &self.weights[point * self.panels.floats() + line..][..V::LANES];
        // SAFETY: a whole vector.
        unsafe { V::load(values.as_ptr()) }
    }

    /// Adds channel `input`'s part to output `(y, x)`.
    #[inline(always)]
    unsafe fn add<V: Vector>(
        &self,
        filter: [[V; MAX_TAPS]; MAX_TAPS],
        input: usize,
        [y, x]: [usize; 2],
        to: *mut f32,
    ) {
        let view = self.input.view;
        let first = self.grid.first_pixel(view, self.spot);
        let rows = self.grid.inside(0, self.spot.y + y);
        let columns = self.grid.inside(1, self.spot.x + x);
        let taps = self.grid.sides.map(|side| side.taps);
        // SAFETY: pixels inside of the image; a whole vector at `to`.
        unsafe {
            let mut sum = V::load(to);
            for ky in rows[0]..rows[1].min(taps[0]) {
                for kx in columns[0]..columns[1].min(taps[1]) {
                    let pixel = first + ((y + ky) * view.width + x + kx) as isize;
                    let value = self.input.pixel(pixel as usize)[input];
                    sum = sum.mul_add(V::splat(value), filter[ky][kx]);
                }
            }
            sum.store(to);
        }
    }
}
