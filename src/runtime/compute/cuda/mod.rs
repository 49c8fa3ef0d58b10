//! Networks on NVIDIA GPUs (feature `cuda`): our kernels, cuBLASLt's products and, with the feature
//! `cudnn`, cuDNN's convolutions, queued on our own streams.
//!
//! Candle's CUDA operations are not used: each allocates its answer, runs on the stream of its
//! first operand's handle, and does not fuse bias, sum or activation.
//!
//! Dense convolutions and fully connected layers use the fastest of several ways. Each way is tried
//! once for a shape, and the result is kept for the GPU (`choices`):
//!
//! - a product of cuBLASLt with bias, sum and ReLU (1×1),
//! - cuDNN with or without its fused ends,
//! - windows gathered by our kernel, followed by a product.
//!
//! A way that a library refuses is skipped. Without the feature `cudnn` the gathered way computes
//! all of them. Products of activations also use cuBLASLt, in batches, if it supports the order of
//! their matrices (`products`); otherwise they use a kernel. Everything else is our own kernel:
//! CUDA C++ compiled to PTX with the crate for the oldest supported GPU (Ampere), and translated by
//! the driver.
//!
//! The first kernel reads samples through a table of addresses in the lane's memory, one for each
//! row. So a batch is read in place without gathering its samples, every other address of a lane
//! stays the same, and a batch can be captured as a graph.
//!
//! The way of a convolution may differ between machines, so answers agree within rounding but not
//! bit by bit. Sums are float32 in every precision.

mod choices;
mod dense;
#[cfg(feature = "cudnn")]
mod dnn;
mod gemm;
mod graph;
mod kernels;
mod lane;
mod params;
mod preference;
mod products;
mod program;
mod steps;
mod tensors;
mod work;

pub use program::lower;
