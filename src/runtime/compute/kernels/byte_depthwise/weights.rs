//! Weights as bytes: for each block of channels, the columns of the kernel, four lines at a time.

use super::super::panels::Filters;
use super::super::quantized::weights::byte;
use super::{BLOCK, GROUP, HALF};
use crate::compute::reduced::ByteNumbers;
use crate::network::{Conv2d, weight_scale};

/// The layout of the weights of a depthwise convolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightBlocks {
    conv: Conv2d,
}

/// The scales of a block's sums, and what these begin with, in the order of sums.
#[derive(Clone, Copy)]
pub(super) struct BlockSums<'a> {
    pub scales: &'a [f32],
    pub starts: &'a [i32],
}

/// Returns the place of a channel of a block among its sums: interleaving leaves four neighbouring
/// channels side by side, a quarter of a vector each.
const fn place(channel: usize) -> usize {
    let (quarter, vector) = (channel / 16, channel % 16 / 4);
    16 * vector + 4 * quarter + channel % 4
}

/// Returns the places of a channel of a block of `channels`: two where these may hold two pixels.
pub(super) fn places(channel: usize, channels: usize) -> impl Iterator<Item = usize> {
    let second = (channels <= HALF).then_some(channel + HALF);
    std::iter::once(channel).chain(second).map(place)
}

impl WeightBlocks {
    pub(super) fn new(conv: Conv2d) -> Self {
        WeightBlocks { conv }
    }

    pub(super) fn count(self) -> usize {
        self.conv.channels.div_ceil(BLOCK)
    }

    /// Returns the floats of a block's weights, each of which holds those of four lines.
    fn each(self) -> usize {
        let kernel = self.conv.kernel;
        kernel.height.div_ceil(GROUP) * kernel.width * BLOCK
    }

    /// Returns the floats of all blocks: weights, a scale and a start for each sum.
    pub(super) fn floats(self) -> usize {
        self.count() * (self.each() + 2 * BLOCK)
    }

    /// Returns the weights of a block, and what its sums need.
    pub(super) fn block(self, block: usize, packed: &[f32]) -> (*const f32, BlockSums<'_>) {
        let all = self.each() + 2 * BLOCK;
        let (weights, sums) = packed[block * all..][..all].split_at(self.each());
        let (scales, starts) = sums.split_at(BLOCK);
        let starts = bytemuck::cast_slice(starts);
        (weights.as_ptr(), BlockSums { scales, starts })
    }

    /// Lays weights out for values by `numbers`; `packed` has [`WeightBlocks::floats`] zeros.
    pub(super) fn pack(self, filters: Filters<'_>, numbers: ByteNumbers, packed: &mut [f32]) {
        let all = self.each() + 2 * BLOCK;
        for out in 0..self.conv.channels {
            let packed = &mut packed[out / BLOCK * all..][..all];
            let (weights, sums) = packed.split_at_mut(self.each());
            let (scales, starts) = sums.split_at_mut(BLOCK);
            let (raw, factor) = (filters.kernel(out, 0), filters.factor(out));
            let scale = weight_scale(raw, factor);
            let bytes: &mut [i8] = bytemuck::cast_slice_mut(weights);
            let starts: &mut [i32] = bytemuck::cast_slice_mut(starts);
            let channels = self.conv.channels - out / BLOCK * BLOCK;
            for lane in places(out % BLOCK, channels) {
                let mut sum = 0;
                for (at, weight) in raw.iter().enumerate() {
                    let (y, x) = (at / self.conv.kernel.width, at % self.conv.kernel.width);
                    let column = (y / GROUP * self.conv.kernel.width + x) * BLOCK + lane;
                    let byte = byte(factor * weight, scale);
                    bytes[GROUP * column + y % GROUP] = byte;
                    sum += i32::from(byte);
                }
                scales[lane] = scale * numbers.scale;
                starts[lane] = -(numbers.zero_point as i32) * sum;
            }
        }
    }
}
