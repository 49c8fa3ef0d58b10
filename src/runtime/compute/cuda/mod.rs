//! Networks on NVIDIA GPUs (feature `cuda`): our kernels, cuBLASLt's products and, with
//! the feature `cudnn`, cuDNN's convolutions, queued on streams of our own.
//!
//! Candle's own CUDA operations are not used for this: each allocates its answer, runs on
//! the stream of its first operand's handle and leaves bias, sum and activation to others.
//!
//! Dense convolutions and fully connected layers are computed by the fastest of several ways, each
//! tried once for a shape and kept for the GPU (`choices`): a product of cuBLASLt with bias, sum
//! and ReLU (1×1), cuDNN with or without its fused ends, or windows gathered by our kernel and
//! then a product. A way that a library refuses is left out. Without the feature `cudnn` the
//! gathered way computes them all. Products of activations are cuBLASLt's too, in batches, where
//! their matrices lie as it takes them (`products`); else they are a kernel's. Everything else is a kernel of ours, CUDA C++ compiled to PTX
//! with the crate for the oldest GPU supported (Ampere); the driver translates it.
//!
//! The first kernel reads samples through a table of addresses in the lane's memory, one for each
//! row. So a batch is read where its samples lie, nothing is copied together, and every other
//! address of a lane stays the same: a batch can be captured as a graph.
//!
//! The way of a convolution may differ between machines, so answers agree to rounding and not to
//! the bit. Sums are float32 in every precision.

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
