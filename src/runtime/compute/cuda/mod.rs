//! Networks on NVIDIA GPUs (feature `cuda`): our kernels, cuBLASLt's products and, with
//! the feature `cudnn`, cuDNN's convolutions, queued on streams of our own.
//!
//! Candle's own CUDA operations are not used for this: each allocates its answer, runs on
//! the stream of its first operand's handle and leaves bias, sum and activation to others.

mod choices;
mod dense;
#[cfg(feature = "cudnn")]
mod dnn;
mod gemm;
mod graph;
mod kernels;
mod lane;
mod operands;
mod params;
mod program;
mod steps;
mod work;

pub use program::lower;
