//! The end of the sums of a block of channels: as floats, or as bytes.

use super::VECTOR;
use super::weights::{BlockSums, WeightBlocks};
use crate::compute::reduced::ByteNumbers;
use crate::network::Activation;

/// The numbers that sums begin with, are multiplied by and are added to, in the order of sums, and the
/// bytes that they become.
#[repr(C, align(64))]
pub(super) struct BlockEnds {
    pub starts: [i32; VECTOR],
    pub scales: [f32; VECTOR],
    pub bias: [f32; VECTOR],
    /// A vector of the byte of 0, and of the least and the most byte, which apply the activation.
    pub zero_point: [i16; VECTOR / 2],
    pub least: [u8; VECTOR],
    pub most: [u8; VECTOR],
    /// The activation of floats.
    pub activation: Option<Activation>,
}

impl BlockEnds {
    /// Returns the ends of sums, which become bytes if `written` is set, otherwise floats. `bias`
    /// begins with the first of the block's `channels`, or is empty.
    pub(super) fn new(
        blocks: WeightBlocks,
        sums: BlockSums<'_>,
        bias: &[f32],
        channels: usize,
        written: Option<ByteNumbers>,
        activation: Option<Activation>,
    ) -> Self {
        let factor = written.map_or(1.0, |numbers| numbers.scale.recip());
        let mut ends = BlockEnds {
            starts: [0; VECTOR],
            scales: [0.0; VECTOR],
            bias: [0.0; VECTOR],
            zero_point: [0; VECTOR / 2],
            least: [0; VECTOR],
            most: [0; VECTOR],
            activation,
        };
        ends.starts.copy_from_slice(sums.starts);
        for (to, scale) in ends.scales.iter_mut().zip(sums.scales) {
            *to = scale * factor;
        }
        for (channel, bias) in bias.iter().take(channels).enumerate() {
            for place in blocks.places(channel, channels) {
                ends.bias[place] = bias * factor;
            }
        }
        if let Some(numbers) = written {
            ends.bound(numbers, activation);
        }
        ends
    }

    /// Limits bytes as an activation limits the numbers they represent. This works because rounding
    /// keeps their order.
    fn bound(&mut self, numbers: ByteNumbers, activation: Option<Activation>) {
        let byte = |value: f32| {
            let whole = (value / numbers.scale).round_ties_even() + numbers.zero_point;
            whole.clamp(0.0, numbers.most) as u8
        };
        let (least, most) = match activation {
            Some(Activation::Relu) => (byte(0.0), numbers.most as u8),
            Some(Activation::Relu6) => (byte(0.0), byte(6.0)),
            _ => (0, numbers.most as u8),
        };
        self.zero_point = [numbers.zero_point as i16; VECTOR / 2];
        (self.least, self.most) = ([least; VECTOR], [most; VECTOR]);
    }
}

#[cfg(test)]
#[path = "../../../../../tests/runtime/units/compute/kernels/quantized_depthwise/ends.rs"]
mod tests;
