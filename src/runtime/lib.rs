//! Runs neural networks on processor partitions and GPUs.
//!
//! A [`network`] is a graph of operations with weights, built by a family, read from a file or
//! imported from [`onnx`]. [`compute`] lowers a graph for one device and runs batches of
//! [`tensor`]s by kernels; Candle is the reference that the kernels are tested against. [`device`]
//! finds devices and books their memory. [`lock`], [`reading`] and [`words`] are used by all crates
//! above: locks that check their order, bounded reading of files, numbers in words.
//!
//! Members, ensembles and requests are unknown here. This is the only crate with `unsafe`: in
//! kernels, in CUDA, for page-locked memory, and for weights in mapped files.

#![warn(missing_docs, unreachable_pub)]

pub mod compute;
pub mod device;
pub mod lock;
pub mod network;
pub mod onnx;
pub mod reading;
pub mod tensor;
pub mod words;
