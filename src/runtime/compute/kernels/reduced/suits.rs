//! Convolutions that are products of reduced numbers.

use crate::compute::buffers::{TensorView, ValuePlace};
use crate::network::Conv2d;

/// Steps of fewer input channels stay in float32: first layers.
const LEAST_CHANNELS: usize = 16;

/// The most products of a sum of bytes that 32 bits hold.
const MOST_PRODUCTS: usize = 1 << 16;

/// Returns whether a convolution over an input in any place can be a product of groups of numbers.
pub(in super::super) fn suits(conv: Conv2d, input: TensorView, group: usize) -> bool {
    let whole = |count: usize| count.is_multiple_of(group);
    conv.groups == 1
        && input.channels >= LEAST_CHANNELS
        && conv.kernel.area() * input.channels <= MOST_PRODUCTS
        && whole(input.channels)
        && whole(input.pitch)
        && input.place != ValuePlace::Input
}
