//! The transform of tiles of the input to points.

use std::ops::Range;

use super::super::memory::InputPixels;
use super::super::vector::{Vector, Vectorised, dispatch};
use super::axis::forward;
use super::grid::{Points, Spot, TileGrid};
use super::special::{Special, tamed_view};
use crate::compute::family::Family;

/// Transforms tiles `tiles` of the input. The first one goes to the first of `points`.
pub(super) struct Forward<'a> {
    pub grid: &'a TileGrid,
    pub tiles: Range<usize>,
    pub input: InputPixels<'a>,
    pub points: Points,
    /// A float for each tile: the divisor of its points if it is special, else 0.
    pub factors: *mut f32,
    pub family: Family,
}

impl Vectorised for Forward<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.grid.sides.map(|side| side.points) {
                [4, 4] => self.tiles::<V, 4, 4>(),
                [4, 6] => self.tiles::<V, 4, 6>(),
                [4, 8] => self.tiles::<V, 4, 8>(),
                [6, 4] => self.tiles::<V, 6, 4>(),
                [6, 6] => self.tiles::<V, 6, 6>(),
                [6, 8] => self.tiles::<V, 6, 8>(),
                [8, 4] => self.tiles::<V, 8, 4>(),
                [8, 6] => self.tiles::<V, 8, 6>(),
                [8, 8] => self.tiles::<V, 8, 8>(),
                [1, 4] => self.tiles::<V, 1, 4>(),
                [1, 6] => self.tiles::<V, 1, 6>(),
                [1, 8] => self.tiles::<V, 1, 8>(),
                [4, 1] => self.tiles::<V, 4, 1>(),
                [6, 1] => self.tiles::<V, 6, 1>(),
                [8, 1] => self.tiles::<V, 8, 1>(),
                sides => unreachable!("no transform of {sides:?} points"),
            }
        }
    }
}

/// The part of a tile that lies inside the image.
#[derive(Clone, Copy)]
struct Inside {
    rows: [usize; 2],
    columns: [usize; 2],
}

impl Forward<'_> {
    #[inline(always)]
    unsafe fn tiles<V: Vector, const R: usize, const C: usize>(&self) {
        let view = self.input.view;
        let data = self.input.data.as_ptr();
        let mut tamed = Vec::new();
        for (at, tile) in self.tiles.clone().enumerate() {
            let spot = self.grid.spot(tile);
            let inside = self.inside(spot);
            let whole = inside.rows == [0, R] && inside.columns == [0, C];
            let pixel = self.grid.first_pixel(view, spot);
            let from = data.wrapping_offset(pixel * view.pitch as isize + view.first as isize);
            let to = self.points.start.wrapping_add(at * self.points.tile);
            // SAFETY: nothing is required.
            let mut squares = unsafe { V::splat(0.0) };
            for channel in (0..view.channels).step_by(V::LANES) {
                let lanes = V::LANES.min(view.channels - channel);
                let (from, to) = (from.wrapping_add(channel), to.wrapping_add(channel));
                // SAFETY: reads stay inside the image, and each point has a line of all channels
                // for each tile.
                unsafe {
                    squares = if whole && lanes == V::LANES {
                        self.vector::<V, R, C, true>(from, to, inside, lanes, squares)
                    } else {
                        self.vector::<V, R, C, false>(from, to, inside, lanes, squares)
                    };
                }
            }
            // SAFETY: every tile has its factor and its points.
            unsafe {
                let ordinary = squares.is_finite();
                let factor = if ordinary {
                    0.0
                } else {
                    self.again(spot, to, &mut tamed)
                };
                self.factors.add(at).write(factor);
            }
        }
    }

    /// Transforms a tile whose points are not finite, or might overflow, without the values
    /// that cause it. Returns the divisor of the others.
    #[inline(always)]
    unsafe fn again(&self, spot: Spot, to: *mut f32, tamed: &mut Vec<f32>) -> f32 {
        let special = Special::find(self.grid, self.input, spot);
        if special.is_hopeless(self.grid) {
            return special.factor();
        }
        special.tamed(self.grid, self.input, spot, tamed);
        let mut factor = 0.0;
        let work = Forward {
            grid: &self.grid.single_tile(),
            tiles: 0..1,
            input: InputPixels {
                view: tamed_view(self.grid, self.input.view.channels),
                data: tamed,
            },
            points: Points {
                start: to,
                ..self.points
            },
            factors: &raw mut factor,
            family: self.family,
        };
        // SAFETY: this family runs; the points are the tile's. Tamed values are finite and small,
        // so this does not recurse again.
        unsafe { dispatch(self.family, work) };
        special.factor()
    }

    fn inside(&self, spot: Spot) -> Inside {
        Inside {
            rows: self.grid.inside(0, spot.y),
            columns: self.grid.inside(1, spot.x),
        }
    }

    /// Transforms one vector of channels of one tile. Returns `squares` plus the squares of its
    /// points.
    #[inline(always)]
    unsafe fn vector<V: Vector, const R: usize, const C: usize, const WHOLE: bool>(
        &self,
        from: *const f32,
        to: *mut f32,
        inside: Inside,
        lanes: usize,
        mut squares: V,
    ) -> V {
        let view = self.input.view;
        let line = view.width * view.pitch;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let zero = V::splat(0.0);
            let mut lines = [[zero; C]; R];
            for x in 0..C {
                let mut column = [zero; R];
                for (y, value) in column.iter_mut().enumerate() {
                    let at = from.wrapping_add(y * line + x * view.pitch);
                    if WHOLE {
                        *value = V::load(at);
                    } else if is_in(inside.rows, y) && is_in(inside.columns, x) {
                        *value = if lanes == V::LANES {
                            V::load(at)
                        } else {
                            V::load_part(at, lanes)
                        };
                    }
                }
                let column = forward::<V, R>(column);
                for y in 0..R {
                    lines[y][x] = column[y];
                }
            }
            for (y, line) in lines.iter().enumerate() {
                let points = forward::<V, C>(*line);
                for (x, point) in points.iter().enumerate() {
                    squares = squares.mul_add(*point, *point);
                    let to = to.add((y * C + x) * self.points.point);
                    if WHOLE || lanes == V::LANES {
                        point.store(to);
                    } else {
                        point.store_part(to, lanes);
                    }
                }
            }
        }
        squares
    }
}

#[inline(always)]
fn is_in([first, end]: [usize; 2], at: usize) -> bool {
    first <= at && at < end
}
