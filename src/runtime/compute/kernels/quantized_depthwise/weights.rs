//! Weights as bytes: for each block of channels, the columns of the kernel, as many lines at a time as
//! are multiplied together.

use super::super::panels::Filters;
use super::super::quantized::weights::byte;
use super::{GROUP, VECTOR};
use crate::compute::reduced::ByteNumbers;
use crate::network::{Conv2d, weight_scale};

/// The blocks of channels of a depthwise convolution, and the layout of their weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightBlocks {
    conv: Conv2d,
    numbers: ByteNumbers,
}

/// The scales and the initial values of a block's sums, in the order of sums.
#[derive(Clone, Copy)]
pub(super) struct BlockSums<'a> {
    pub scales: &'a [f32],
    pub starts: &'a [i32],
}

/// Returns the place of a channel among the sums of a block: interleaving leaves four
/// neighbouring channels side by side, a quarter of a vector each.
const fn place(channel: usize) -> usize {
    let (quarter, at) = (channel / (VECTOR / 4), channel % (VECTOR / 4));
    16 * (at / 4) + 4 * quarter + at % 4
}

impl WeightBlocks {
    pub(super) fn new(conv: Conv2d, numbers: ByteNumbers) -> Self {
        WeightBlocks { conv, numbers }
    }

    pub(super) fn count(self) -> usize {
        self.conv.channels.div_ceil(VECTOR)
    }

    /// Returns the floats of a block's weights. Each float holds the weights of a group of lines.
    fn each(self) -> usize {
        let kernel = self.conv.kernel;
        kernel.height.div_ceil(GROUP) * kernel.width * VECTOR
    }

    /// Returns the floats of a block: weights, and a scale and a start for each sum.
    fn all(self) -> usize {
        self.each() + 2 * VECTOR
    }

    /// Returns the floats of all blocks.
    pub(super) fn floats(self) -> usize {
        self.count() * self.all()
    }

    /// Returns the weights of a block, and the scales and initial values of its sums.
    pub(super) fn block(self, block: usize, packed: &[f32]) -> (*const f32, BlockSums<'_>) {
        let (weights, sums) = packed[block * self.all()..][..self.all()].split_at(self.each());
        let (scales, starts) = sums.split_at(sums.len() / 2);
        let starts = bytemuck::cast_slice(starts);
        (weights.as_ptr(), BlockSums { scales, starts })
    }

    /// Returns the places of a channel of a block of `channels`: two if a vector holds two pixels.
    pub(super) fn places(self, channel: usize, channels: usize) -> impl Iterator<Item = usize> {
        let second = (channels <= VECTOR / 2).then_some(channel + VECTOR / 2);
        std::iter::once(channel).chain(second).map(place)
    }

    /// Returns the place of a weight of a lane, `at` in its kernel, among the numbers of its block.
    fn weight_place(self, at: usize, lane: usize) -> usize {
        let width = self.conv.kernel.width;
        let (y, x) = (at / width, at % width);
        GROUP * ((y / GROUP * width + x) * VECTOR + lane) + y % GROUP
    }

    /// Lays weights out; `packed` has [`WeightBlocks::floats`] zeros.
    pub(super) fn pack(self, filters: Filters<'_>, packed: &mut [f32]) {
        for out in 0..self.conv.channels {
            let packed = &mut packed[out / VECTOR * self.all()..][..self.all()];
            self.pack_channel(filters, out, packed);
        }
    }

    /// Returns the places of channel `out` in its block.
    fn lanes(self, out: usize) -> impl Iterator<Item = usize> {
        self.places(out % VECTOR, self.conv.channels - out / VECTOR * VECTOR)
    }

    fn pack_channel(self, filters: Filters<'_>, out: usize, packed: &mut [f32]) {
        let (weights, sums) = packed.split_at_mut(self.each());
        let (scales, starts) = sums.split_at_mut(VECTOR);
        let (raw, factor) = (filters.kernel(out, 0), filters.factor(out));
        let scale = weight_scale(raw, factor);
        let bytes: &mut [i8] = bytemuck::cast_slice_mut(weights);
        let starts: &mut [i32] = bytemuck::cast_slice_mut(starts);
        for lane in self.lanes(out) {
            let mut sum = 0;
            for (at, weight) in raw.iter().enumerate() {
                let byte = byte(factor * weight, scale);
                bytes[self.weight_place(at, lane)] = byte;
                sum += i32::from(byte);
            }
            scales[lane] = scale * self.numbers.scale;
            starts[lane] = -(self.numbers.zero_point as i32) * sum;
        }
    }
}
