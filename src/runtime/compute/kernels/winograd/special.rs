//! Tiles with values that are not finite, or so large that a transform could overflow.
//!
//! The transforms mix all values of a tile, so one infinity would make all of its outputs NaN. The
//! transform detects such a tile: the sum of its points' squares is not finite. It is then
//! transformed again without those values, scaled by a power of two, and the affected outputs are
//! corrected afterwards: a NaN makes them NaN, and infinities are summed by the signs of their
//! weights.

use crate::compute::buffers::{TensorView, ValuePlace};

use super::super::memory::InputPixels;
use super::super::panels::Filters;
use super::axis::MAX_POINTS;
use super::grid::{Spot, TileGrid};

/// The outputs of one vector of channels of a tile, line by line.
pub(super) type TileOutputs = [[f32; MAX_LANES]; MAX_POINTS * MAX_POINTS];

/// The most floats of a vector.
pub(super) const MAX_LANES: usize = 16;

/// Points of a tile whose largest value is smaller have a finite sum of squares, and so
/// does every product of theirs with weights of any use.
const LARGE: f32 = 1e10;

/// The largest factor whose inverse is a normal number.
const MOST: f32 = f32::from_bits(0x7e80_0000);

/// The bits of a float without its sign order its absolute value; above this are NaNs.
const INFINITY: u32 = 0x7f80_0000;

/// The input pixels of a tile with special values. Bit `y · columns + x` of a mask is pixel
/// `(y, x)`.
pub(super) struct Special {
    columns: usize,
    taps: [usize; 2],
    nan: u64,
    infinite: u64,
    /// The largest finite absolute value.
    largest: f32,
}

impl Special {
    /// Examines all channels of the tile at `spot`.
    pub(super) fn find(grid: &TileGrid, input: InputPixels<'_>, spot: Spot) -> Self {
        let [rows, columns] = grid.sides;
        let mut special = Special {
            columns: columns.points,
            taps: [rows.taps, columns.taps],
            nan: 0,
            infinite: 0,
            largest: 0.0,
        };
        for (at, pixel) in grid.pixels(input.view, spot) {
            special.inspect(at, input.pixel(pixel));
        }
        special
    }

    fn inspect(&mut self, at: usize, channels: &[f32]) {
        let absolute = |v: &f32| v.to_bits() & !(1 << 31);
        let most = channels.iter().map(absolute).fold(0, u32::max);
        let finite = match most {
            ..INFINITY => most,
            // The pixel is not used any further.
            _ if most > INFINITY => {
                self.nan |= 1 << at;
                return;
            }
            _ => {
                self.infinite |= 1 << at;
                let finite = channels.iter().map(absolute).filter(|&v| v < INFINITY);
                finite.fold(0, u32::max)
            }
        };
        self.largest = self.largest.max(f32::from_bits(finite));
    }

    /// Returns a power of two; divided by it, the tile's values cannot overflow.
    pub(super) fn factor(&self) -> f32 {
        match self.largest > LARGE {
            // The value without its fraction.
            true => f32::from_bits(self.largest.to_bits() & INFINITY).min(MOST),
            false => 1.0,
        }
    }

    /// Returns the pixels that output `(y, x)` is computed from.
    fn window(&self, y: usize, x: usize) -> u64 {
        let line = ((1u64 << self.taps[1]) - 1) << x;
        (y..y + self.taps[0]).fold(0, |mask, row| mask | line << (row * self.columns))
    }

    /// Returns whether every output is NaN.
    pub(super) fn is_hopeless(&self, grid: &TileGrid) -> bool {
        let [rows, columns] = grid.sides.map(|side| side.outputs);
        let mut all = (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x)));
        all.all(|(y, x)| self.window(y, x) & self.nan != 0)
    }

    /// Writes the tile's finite values over [`Special::factor`], with zeros for the others and
    /// around the image: `rows · columns` pixels.
    pub(super) fn tamed(
        &self,
        grid: &TileGrid,
        input: InputPixels<'_>,
        spot: Spot,
        values: &mut Vec<f32>,
    ) {
        let channels = input.view.channels;
        let by = 1.0 / self.factor();
        values.clear();
        values.resize(grid.points() * channels, 0.0);
        for (at, pixel) in grid.pixels(input.view, spot) {
            let to = &mut values[at * channels..][..channels];
            for (to, value) in to.iter_mut().zip(input.pixel(pixel)) {
                *to = if value.is_finite() { value * by } else { 0.0 };
            }
        }
    }
}

/// Returns the view of [`Special::tamed`] values.
pub(super) fn tamed_view(grid: &TileGrid, channels: usize) -> TensorView {
    let [height, width] = grid.sides.map(|side| side.points);
    TensorView {
        place: ValuePlace::Input,
        first: 0,
        channels,
        height,
        width,
        pitch: channels,
    }
}

/// An infinity of a tile.
struct Infinity {
    pixel: usize,
    channel: usize,
    negative: bool,
}

/// Corrects the outputs of a special tile.
pub(super) struct Repair<'a> {
    special: Special,
    signs: Signs<'a>,
    /// The tile's infinities, ordered by pixel.
    infinities: Vec<Infinity>,
}

impl<'a> Repair<'a> {
    pub(super) fn for_tile(
        grid: &TileGrid,
        input: InputPixels<'_>,
        spot: Spot,
        signs: Signs<'a>,
    ) -> Self {
        let special = Special::find(grid, input, spot);
        let mut infinities = Vec::new();
        if special.infinite != 0 && !special.is_hopeless(grid) {
            for (pixel, number) in grid.pixels(input.view, spot) {
                let values = input.pixel(number).iter().enumerate();
                let infinite = values.filter(|(_, v)| v.is_infinite());
                infinities.extend(infinite.map(|(channel, v)| Infinity {
                    pixel,
                    channel,
                    negative: v.is_sign_negative(),
                }));
            }
        }
        Repair {
            special,
            signs,
            infinities,
        }
    }

    /// Corrects the outputs of a vector of `lanes` channels from `channel` on, `width` a line.
    pub(super) fn outputs(
        &self,
        outputs: &mut [[f32; MAX_LANES]],
        width: usize,
        [channel, lanes]: [usize; 2],
    ) {
        let factor = self.special.factor();
        for (at, values) in outputs.iter_mut().enumerate() {
            let window = self.special.window(at / width, at % width);
            let values = &mut values[..lanes];
            if window & self.special.nan != 0 {
                values.fill(f32::NAN);
                continue;
            }
            values.iter_mut().for_each(|v| *v *= factor);
            if window & self.special.infinite != 0 {
                let sum = self.sum(window, at / width, at % width, channel);
                sum.add_to(values, channel % WORD);
            }
        }
    }

    /// Returns the sum of the infinities in the window of output `(y, x)`.
    fn sum(&self, window: u64, y: usize, x: usize, channel: usize) -> InfinitySum {
        let mut sum = InfinitySum::default();
        for infinity in &self.infinities {
            if window >> infinity.pixel & 1 == 0 {
                continue;
            }
            let row = infinity.pixel / self.special.columns - y;
            let column = infinity.pixel % self.special.columns - x;
            let tap = row * self.special.taps[1] + column;
            let [positive, negative] = self.signs.signs(infinity.channel, tap, channel / WORD);
            let (up, down) = match infinity.negative {
                false => (positive, negative),
                true => (negative, positive),
            };
            sum.add(up, down);
            if sum.nan() == u32::MAX {
                break;
            }
        }
        sum
    }
}

/// A sum of infinities for a word of outputs, a bit for each output.
#[derive(Clone, Copy, Default)]
struct InfinitySum {
    up: u32,
    down: u32,
    /// Whether an infinity was multiplied by a weight of zero.
    zero: u32,
}

impl InfinitySum {
    fn add(&mut self, up: u32, down: u32) {
        self.up |= up;
        self.down |= down;
        self.zero |= !(up | down);
    }

    fn nan(self) -> u32 {
        self.zero | (self.up & self.down)
    }

    /// Adds the sum to values. The first value is bit `first`.
    fn add_to(self, values: &mut [f32], first: usize) {
        for (lane, value) in values.iter_mut().enumerate() {
            let is = |bits: u32| bits >> (first + lane) & 1 != 0;
            *value = match () {
                () if is(self.nan()) => f32::NAN,
                () if is(self.up) => f32::INFINITY,
                () if is(self.down) => f32::NEG_INFINITY,
                () => *value,
            };
        }
    }
}

/// The outputs of a word of signs.
const WORD: usize = 32;

/// The signs of the weights before the transform: for each input channel, tap and word of
/// outputs, a word of the positive ones and a word of the negative ones.
#[derive(Clone, Copy)]
pub(super) struct Signs<'a> {
    pub words: &'a [u32],
    pub taps: usize,
    pub outputs: usize,
}

impl Signs<'_> {
    /// Returns the number of words for the given inputs, taps and outputs.
    pub(super) fn count(inputs: usize, taps: usize, outputs: usize) -> usize {
        inputs * taps * outputs.div_ceil(WORD) * 2
    }

    /// Fills `words`.
    pub(super) fn pack(filters: Filters<'_>, words: &mut [u32]) {
        let taps = filters.conv.kernel.area();
        let outputs = filters.conv.channels;
        for out in 0..outputs {
            let factor = filters.factor(out);
            for input in 0..filters.inputs() {
                for (tap, weight) in filters.kernel(out, input).iter().enumerate() {
                    let at = first(outputs, taps, [input, tap, out / WORD]);
                    let weight = factor * weight;
                    words[at] |= u32::from(weight > 0.0) << (out % WORD);
                    words[at + 1] |= u32::from(weight < 0.0) << (out % WORD);
                }
            }
        }
    }

    fn signs(&self, input: usize, tap: usize, word: usize) -> [u32; 2] {
        let at = first(self.outputs, self.taps, [input, tap, word]);
        [self.words[at], self.words[at + 1]]
    }
}

/// Returns the first word of an input's tap for a word of outputs.
fn first(outputs: usize, taps: usize, [input, tap, word]: [usize; 3]) -> usize {
    ((input * taps + tap) * outputs.div_ceil(WORD) + word) * 2
}
