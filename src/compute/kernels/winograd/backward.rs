//! Points to tiles of the output.

use std::ops::Range;

use crate::compute::family::Family;
use crate::compute::view::View;
use crate::network::Activation;

use super::super::memory::{Part, Source};
use super::super::panels::Panels;
use super::super::tile::activated;
use super::super::vector::{Vector, Vectorised, dispatch};
use super::Points;
use super::axis::{MAX_POINTS, back};
use super::exact::{Exact, Inverse, Outputs};
use super::grid::{Grid, Spot};

/// Transforms products back into tiles `tiles` of the output, and finishes those.
pub(super) struct Backward<'a> {
    pub grid: &'a Grid,
    pub tiles: Range<usize>,
    pub points: Points,
    /// A vector's worth for each vector of channels; empty for none.
    pub bias: &'a [f32],
    pub residual: Option<Source<'a>>,
    pub activation: Option<Activation>,
    pub view: View,
    pub out: Part<'a>,
    /// What tiles that are not finite are computed from again.
    pub family: Family,
    pub inverse: &'a Inverse,
    pub input: Source<'a>,
    pub panels: Panels,
    pub weights: &'a [f32],
}

impl Vectorised for Backward<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let [rows, columns] = self.grid.sides;
        // SAFETY: handed on.
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
            for channel in (0..self.view.channels).step_by(V::LANES) {
                // SAFETY: the points have whole vectors for all channels of each tile; the
                // part has the pixels of these tiles.
                unsafe { self.vector::<V, R, P, C, Q>(from.add(channel), spot, channel) };
            }
        }
    }

    /// One vector of channels of one tile: `P × Q` outputs of `R × C` points.
    #[inline(always)]
    unsafe fn vector<V: Vector, const R: usize, const P: usize, const C: usize, const Q: usize>(
        &self,
        from: *const f32,
        spot: Spot,
        channel: usize,
    ) {
        // SAFETY: as the caller says.
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
            let mut all = zero;
            for (line, points) in outputs.iter_mut().zip(&lines) {
                *line = back::<V, C, Q>(*points);
                for value in line.iter() {
                    all = all.add(*value);
                }
            }
            if !all.is_finite() {
                self.again(spot, channel, &mut outputs);
            }
            self.write(spot, channel, &outputs);
        }
    }

    /// Computes outputs directly.
    #[inline(always)]
    unsafe fn again<V: Vector, const P: usize, const Q: usize>(
        &self,
        spot: Spot,
        channel: usize,
        outputs: &mut [[V; Q]; P],
    ) {
        let mut values: Outputs = [[0.0; 16]; MAX_POINTS * MAX_POINTS];
        let work = Exact {
            grid: self.grid,
            inverse: self.inverse,
            input: self.input,
            panels: self.panels,
            weights: self.weights,
            output: self.view,
            spot,
            channel,
            outputs: &mut values,
        };
        // SAFETY: the family is the one that runs; values hold whole vectors.
        unsafe {
            dispatch(self.family, work);
            for (y, line) in outputs.iter_mut().enumerate() {
                for (x, value) in line.iter_mut().enumerate() {
                    *value = V::load(values[y * Q + x].as_ptr());
                }
            }
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
