//! The loops of networks on processors. Values are channels-last; operands are views into one
//! arena. A step runs in phases, a phase in tasks that may run at once, on any threads.
//!
//! | method | for | how |
//! |---|---|---|
//! | `convolution` | all other convolutions, and fully connected layers | a tile of a few pixels × up to four vectors of channels stays in registers over all taps; its rows are read in place through a table of offsets, with zeros outside of the image; bias, residual and activation are applied as the tile is stored |
//! | `convolution`, prepared | first layers, which have few input channels | the input is copied once into padded lines and converted from channels-first, so that a line of the window is one run of floats |
//! | `narrow` | depthwise convolutions, groups of 4 or 8 channels | a vector of outputs reads the same channels of its input, each lane its own group's |
//! | `depthwise` | depthwise convolutions of stride 1 and one channel, 3, 5 or 7 wide | neighbouring outputs of a line share their loaded inputs |
//! | `winograd` | stride 1, windows of 3, 5, 7 and 1×3 … 7×1, if expected to be faster | F(2), F(4) or F(6) a side with 4, 6 or 8 points; a task takes a run of tiles through transform, product and back in cache; with few tiles, all threads share each of the three |
//! | `quantized` | convolutions and fully connected layers in int8, if requested | values become bytes by their range, in padded lines of scratch; a tile multiplies four of them at a time with four bytes of weights, and ends in float32; if the network rounds by the range of a sample, rows already are bytes |
//! | `reduced` | layers in bf16, or in int8 by known ranges, if requested or if the network rounds this way | values stay brain floats or bytes from one product to the next, and are multiplied in place in groups of four bytes |
//! | `tensors` | tensors of any rank | products of activations and attention by the same tiles, read by strides; the rest as passes over runs |
//! | Candle | operations without a kernel | Candle's operations, on copies |
//! | a simple pass | pools, separate norms, resizes, softmax, products, channels | plain loops |
//!
//! ReLU and ReLU6 are applied as values are written, HardSwish only for reduced numbers. Other
//! activations pass over the rows of a tile, or a pixel, afterwards (`activations`), by functions
//! over vectors (`functions`), with the accuracy that the written numbers need (`accuracy`).
//!
//! Kernels are written once over the trait `Vector` and compiled for AVX-512, AVX2 with FMA, NEON
//! and plain arrays; `Family::best` picks at run time. They are `#[inline(always)]` without
//! closures inside one function for each family, which enables its instructions. Code that is not
//! inlined there would call a function for every instruction.
//!
//! The product is our own instead of the `gemm` crate's, because rows come through offsets, the
//! right side is packed at load, and the end of a step is applied in registers. A general product
//! offers none of these.

/// Matches vectors and rows to instances of a tile's function `f::<ROWS, VECTORS>`.
macro_rules! tile_instances {
    ($f:ident, $at:expr; $($vectors:literal: $($rows:literal)+;)+) => {
        match $at {
            $($(($vectors, $rows) => $f::<$rows, $vectors>,)+)+
            (vectors, rows) => unreachable!("no tile of {rows} rows and {vectors} vectors"),
        }
    };
    ($f:ident<$of:ident>, $at:expr; $($vectors:literal: $($rows:literal)+;)+) => {
        match $at {
            $($(($vectors, $rows) => $f::<$of, $rows, $vectors>,)+)+
            (vectors, rows) => unreachable!("no tile of {rows} rows and {vectors} vectors"),
        }
    };
}

/// Repeats a block for each number below a constant. A loop over arrays would move their values out
/// of registers.
macro_rules! unrolled {
    ($at:ident < $most:expr; $($n:literal)+ => $block:block) => {
        $(if $n < $most {
            const $at: usize = $n;
            $block
        })+
    };
}

mod accuracy;
mod activations;
mod buffer;
mod candle;
mod channels;
mod choice;
mod convolution;
mod depthwise;
mod dots;
mod elementwise;
mod functions;
mod layout;
mod memory;
mod narrow;
mod norms;
mod panels;
mod pass;
mod quantized;
#[allow(clippy::needless_range_loop, reason = "as for `winograd`")]
mod quantized_depthwise;
mod reduced;
mod reduced_pixels;
mod resample;
mod step;
mod table;
mod target;
mod task;
mod tensors;
mod tile;
mod vector;
#[allow(
    clippy::needless_range_loop,
    reason = "rows and columns of tiles, by their numbers"
)]
mod winograd;

pub use activations::activate_plainly;
pub use buffer::mapped_bytes;
pub(in crate::compute) use buffer::{Buffer, LINE};
pub(in crate::compute) use choice::{
    StepReads, adds_any, reads_any, suits_reduced, suits_reducing, writes_reduced,
};
pub(in crate::compute) use dots::{DotKernel, HalfKernel, half_speed};
pub(in crate::compute) use layout::ArenaLayout;
pub(in crate::compute) use memory::BatchMemory;
pub(in crate::compute) use panels::Filters;
pub use resample::resize_planes;
pub(in crate::compute) use step::{PlannedStep, StepMethod};
pub(in crate::compute) use table::{TABLE_FLOATS, bytes_of};
pub(in crate::compute) use target::KernelTarget;
pub(in crate::compute) use task::{Call, PlacedStep, ReducedOperands, Scratch, StepWeights};
