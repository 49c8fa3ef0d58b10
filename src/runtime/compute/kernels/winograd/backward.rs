//! The transform of points back to tiles of the output.

use std::ops::Range;

use crate::compute::buffers::TensorView;
use crate::network::Activation;

use super::super::activations::{RowActivation, TileRows};
use super::super::memory::{InputPixels, OutputPixels};
use super::super::tile::activated;
use super::super::vector::{Vector, Vectorised};
use super::axis::{MAX_POINTS, back};
use super::grid::{Points, Spot, TileGrid};
use super::special::{MAX_LANES, Repair, Signs, TileOutputs};

/// Transforms products back into tiles `tiles` of the output, and finishes the tiles.
pub(super) struct Backward<'a> {
    pub grid: &'a TileGrid,
    pub tiles: Range<usize>,
    pub points: Points,
    /// A whole vector for each vector of channels; empty without a bias.
    pub bias: &'a [f32],
    pub residual: Option<InputPixels<'a>>,
    pub activation: Option<Activation>,
    /// The activation, if it is applied after each tile.
    pub pass: Option<RowActivation>,
    pub view: TensorView,
    pub out: OutputPixels<'a>,
    /// The factor of each tile, from [`Forward`](super::forward::Forward).
    pub factors: *const f32,
    /// The input, with which outputs of special tiles are corrected.
    pub input: InputPixels<'a>,
    pub signs: Signs<'a>,
}

impl Vectorised for Backward<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let [rows, columns] = self.grid.sides;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match (
                [rows.points, rows.outputs],
                [columns.points, columns.outputs],
            ) {
                ([4, 2], [4, 2]) => self.tiles::<V, 4, 2, 4, 2>(),
                ([4, 2], [6, 4]) => self.tiles::<V, 4, 2, 6, 4>(),
                ([4, 2], [8, 6]) => self.tiles::<V, 4, 2, 8, 6>(),
                ([6, 4], [4, 2]) => self.tiles::<V, 6, 4, 4, 2>(),
                ([6, 4], [6, 4]) => self.tiles::<V, 6, 4, 6, 4>(),
                ([6, 4], [8, 6]) => self.tiles::<V, 6, 4, 8, 6>(),
                ([8, 6], [4, 2]) => self.tiles::<V, 8, 6, 4, 2>(),
                ([8, 6], [6, 4]) => self.tiles::<V, 8, 6, 6, 4>(),
                ([8, 6], [8, 6]) => self.tiles::<V, 8, 6, 8, 6>(),
                ([6, 2], [6, 2]) => self.tiles::<V, 6, 2, 6, 2>(),
                ([8, 2], [8, 2]) => self.tiles::<V, 8, 2, 8, 2>(),
                ([1, 1], [4, 2]) => self.tiles::<V, 1, 1, 4, 2>(),
                ([1, 1], [6, 4]) => self.tiles::<V, 1, 1, 6, 4>(),
                ([1, 1], [8, 6]) => self.tiles::<V, 1, 1, 8, 6>(),
                ([1, 1], [6, 2]) => self.tiles::<V, 1, 1, 6, 2>(),
                ([1, 1], [8, 2]) => self.tiles::<V, 1, 1, 8, 2>(),
                ([4, 2], [1, 1]) => self.tiles::<V, 4, 2, 1, 1>(),
                ([6, 4], [1, 1]) => self.tiles::<V, 6, 4, 1, 1>(),
                ([8, 6], [1, 1]) => self.tiles::<V, 8, 6, 1, 1>(),
                ([6, 2], [1, 1]) => self.tiles::<V, 6, 2, 1, 1>(),
                ([8, 2], [1, 1]) => self.tiles::<V, 8, 2, 1, 1>(),
                sides => unreachable!("no transform of {sides:?} points and outputs"),
            }
        }
    }
}

impl Backward<'_> {
    #[inline(always)]
    unsafe fn tiles<V: Vector, const R: usize, const P: usize, const C: usize, const Q: usize>(
        &self,
    ) {
        for (at, tile) in self.tiles.clone().enumerate() {
            let spot = self.grid.spot(tile);
            let from = self.points.start.wrapping_add(at * self.points.tile);
            // SAFETY: every tile has a factor.
            let special = unsafe { self.factors.add(at).read() } != 0.0;
            let repair = special.then(|| Repair::for_tile(self.grid, self.input, spot, self.signs));
            for channel in (0..self.view.channels).step_by(V::LANES) {
                // SAFETY: the points have whole vectors for all channels of each tile; the
                // part has the pixels of these tiles.
                unsafe {
                    self.vector::<V, R, P, C, Q>(from.add(channel), spot, channel, repair.as_ref());
                }
            }
            if let Some(pass) = &self.pass {
                self.pass_over(*pass, spot, [P, Q]);
            }
        }
    }

    /// Applies an activation to the outputs of one tile that the image has.
    fn pass_over(&self, pass: RowActivation, spot: Spot, [rows, columns]: [usize; 2]) {
        let lines = rows.min(self.view.height - spot.y);
        let pixels = columns.min(self.view.width - spot.x);
        for y in 0..lines {
            let written = TileRows {
                start: self.out.ptr(spot.output(self.view, y, 0)),
                stride: self.out.pitch(),
                rows: pixels,
                columns: self.view.channels,
            };
            // SAFETY: the tile wrote all channels of these pixels, and no other tile does.
            unsafe { pass.rows(written) }
        }
    }

    /// One vector of channels of one tile: `P × Q` outputs of `R × C` points.
    #[inline(always)]
    unsafe fn vector<V: Vector, const R: usize, const P: usize, const C: usize, const Q: usize>(
        &self,
        from: *const f32,
        spot: Spot,
        channel: usize,
        repair: Option<&Repair<'_>>,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let zero = V::splat(0.0);
            let mut lines = [[zero; C]; P];
            for x in 0..C {
                let mut column = [zero; R];
                for (y, value) in column.iter_mut().enumerate() {
                    *value = V::load(from.add((y * C + x) * self.points.point));
                }
                let column = back::<V, R, P>(column);
                for y in 0..P {
                    lines[y][x] = column[y];
                }
            }
            let mut outputs = [[zero; Q]; P];
            for (line, points) in outputs.iter_mut().zip(&lines) {
                *line = back::<V, C, Q>(*points);
            }
            if let Some(repair) = repair {
                put_right(repair, channel, &mut outputs);
            }
            self.write(spot, channel, &outputs);
        }
    }

    /// Finishes and writes the outputs that the image has.
    #[inline(always)]
    unsafe fn write<V: Vector, const P: usize, const Q: usize>(
        &self,
        spot: Spot,
        channel: usize,
        outputs: &[[V; Q]; P],
    ) {
        // SAFETY: as `Backward::vector`'s.
        unsafe {
            let bias = if self.bias.is_empty() {
                V::splat(0.0)
            } else {
                V::load(self.bias[channel..].as_ptr())
            };
            let (height, width) = (self.view.height - spot.y, self.view.width - spot.x);
            for (y, line) in outputs.iter().enumerate() {
                if y >= height {
                    break;
                }
                let first = spot.output(self.view, y, 0);
                for (x, value) in line.iter().enumerate() {
                    if x < width {
                        self.finish(value.add(bias), first + x, channel);
                    }
                }
            }
        }
    }

    /// Adds the residual, applies the activation and writes.
    #[inline(always)]
    unsafe fn finish<V: Vector>(&self, mut value: V, pixel: usize, channel: usize) {
        // SAFETY: the pixel is one of the part's, and the residual has as many.
        unsafe {
            let lanes = V::LANES.min(self.view.channels - channel);
            if let Some(residual) = &self.residual {
                let from = residual.ptr(pixel).add(channel);
                value = value.add(if lanes == V::LANES {
                    V::load(from)
                } else {
                    V::load_part(from, lanes)
                });
            }
            let value = activated(value, self.activation);
            let to = self.out.ptr(pixel).add(channel);
            if lanes == V::LANES {
                value.store(to);
            } else {
                value.store_part(to, lanes);
            }
        }
    }
}

/// Corrects the outputs of a special tile.
#[inline(always)]
unsafe fn put_right<V: Vector, const P: usize, const Q: usize>(
    repair: &Repair<'_>,
    channel: usize,
    outputs: &mut [[V; Q]; P],
) {
    let mut values: TileOutputs = [[0.0; MAX_LANES]; MAX_POINTS * MAX_POINTS];
    let all = outputs.as_flattened_mut();
    // SAFETY: a line of values holds a whole vector.
    unsafe {
        for (value, output) in values.iter_mut().zip(all.iter()) {
            output.store(value.as_mut_ptr());
        }
        repair.outputs(&mut values[..P * Q], Q, [channel, V::LANES]);
        for (value, output) in values.iter().zip(all.iter_mut()) {
            *output = V::load(value.as_ptr());
        }
    }
}
