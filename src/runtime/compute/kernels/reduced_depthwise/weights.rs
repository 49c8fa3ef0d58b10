//! Weights as numbers of the image: for each block of channels, the columns of the kernel, as many lines
//! at a time as are multiplied together.

use half::bf16;

use super::super::panels::Filters;
use super::super::quantized::weights::byte;
use super::VECTOR;
use crate::compute::reduced::{ByteNumbers, ReducedNumbers};
use crate::network::{Conv2d, weight_scale};

/// The blocks of channels of a depthwise convolution, and the layout of their weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightBlocks {
    conv: Conv2d,
    numbers: ReducedNumbers,
}

/// The scales of a block's sums, and what these begin with, in the order of sums.
#[derive(Clone, Copy)]
pub(super) struct BlockSums<'a> {
    pub scales: &'a [f32],
    pub starts: &'a [i32],
}

/// Returns the place of a channel among the sums of a block of `block` channels: interleaving leaves four
/// neighbouring channels side by side, a quarter of a vector each.
const fn place(channel: usize, block: usize) -> usize {
    let (quarter, at) = (channel / (block / 4), channel % (block / 4));
    16 * (at / 4) + 4 * quarter + at % 4
}

impl WeightBlocks {
    pub(super) fn new(conv: Conv2d, numbers: ReducedNumbers) -> Self {
        WeightBlocks { conv, numbers }
    }

    /// Returns the channels of a block, which fill a vector.
    pub(super) fn channels(self) -> usize {
        VECTOR / self.numbers.bytes()
    }

    pub(super) fn count(self) -> usize {
        self.conv.channels.div_ceil(self.channels())
    }

    /// Returns the floats of a block's weights, each of which holds those of a group of lines.
    fn each(self) -> usize {
        let kernel = self.conv.kernel;
        kernel.height.div_ceil(self.numbers.group()) * kernel.width * self.channels()
    }

    /// Returns the floats of a block: weights, and of bytes a scale and a start for each sum.
    fn all(self) -> usize {
        self.each()
            + match self.numbers {
                ReducedNumbers::Bf16 => 0,
                ReducedNumbers::Bytes(_) => 2 * self.channels(),
            }
    }

    /// Returns the floats of all blocks.
    pub(super) fn floats(self) -> usize {
        self.count() * self.all()
    }

    /// Returns the weights of a block, and what its sums need if they are of bytes.
    pub(super) fn block(self, block: usize, packed: &[f32]) -> (*const f32, BlockSums<'_>) {
        let (weights, sums) = packed[block * self.all()..][..self.all()].split_at(self.each());
        let (scales, starts) = sums.split_at(sums.len() / 2);
        let starts = bytemuck::cast_slice(starts);
        (weights.as_ptr(), BlockSums { scales, starts })
    }

    /// Returns the places of a channel of a block of `channels`: two where a vector holds two pixels.
    pub(super) fn places(self, channel: usize, channels: usize) -> impl Iterator<Item = usize> {
        let block = self.channels();
        let second = (channels <= block / 2).then_some(channel + block / 2);
        let both = std::iter::once(channel).chain(second);
        both.map(move |channel| place(channel, block))
    }

    /// Returns the place of a weight of a lane, `at` in its kernel, among the numbers of its block.
    fn weight_place(self, at: usize, lane: usize) -> usize {
        let (width, group) = (self.conv.kernel.width, self.numbers.group());
        let (y, x) = (at / width, at % width);
        group * ((y / group * width + x) * self.channels() + lane) + y % group
    }

    /// Lays weights out; `packed` has [`WeightBlocks::floats`] zeros.
    pub(super) fn pack(self, filters: Filters<'_>, packed: &mut [f32]) {
        let (block, all) = (self.channels(), self.all());
        for out in 0..self.conv.channels {
            let packed = &mut packed[out / block * all..][..all];
            match self.numbers {
                ReducedNumbers::Bf16 => self.pack_halves(filters, out, packed),
                ReducedNumbers::Bytes(numbers) => self.pack_bytes(filters, out, (numbers, packed)),
            }
        }
    }

    /// Returns the places of channel `out` in its block.
    fn lanes(self, out: usize) -> impl Iterator<Item = usize> {
        let block = self.channels();
        self.places(out % block, self.conv.channels - out / block * block)
    }

    fn pack_halves(self, filters: Filters<'_>, out: usize, packed: &mut [f32]) {
        let (raw, factor) = (filters.kernel(out, 0), filters.factor(out));
        let halves: &mut [u16] = bytemuck::cast_slice_mut(packed);
        for lane in self.lanes(out) {
            for (at, weight) in raw.iter().enumerate() {
                halves[self.weight_place(at, lane)] = bf16::from_f32(factor * weight).to_bits();
            }
        }
    }

    fn pack_bytes(
        self,
        filters: Filters<'_>,
        out: usize,
        (numbers, packed): (ByteNumbers, &mut [f32]),
    ) {
        let (weights, sums) = packed.split_at_mut(self.each());
        let (scales, starts) = sums.split_at_mut(self.channels());
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
            scales[lane] = scale * numbers.scale;
            starts[lane] = -(numbers.zero_point as i32) * sum;
        }
    }
}
