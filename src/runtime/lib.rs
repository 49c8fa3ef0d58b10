//! Runs neural networks on processor partitions and GPUs.
//!
//! A [`network`] is a graph of operations with weights, built by a family, read from a file or
//! imported from [`onnx`]. [`compute`] lowers a graph for one device and runs batches of
//! [`tensor`]s by kernels; Candle is the reference that the kernels are tested against. [`device`]
//! finds devices and books their memory. [`lock`], [`named`], [`reading`] and [`words`] are used by
//! all crates above: locks that check their order, enums with names, bounded reading of files and
//! its errors, numbers in words.
//!
//! Loads an ONNX file and runs it on one core:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use divisi_runtime::compute::{CpuPredictor, Lowered, Predictor};
//! use divisi_runtime::compute::{host_rows, read_rows, write_rows};
//! use divisi_runtime::onnx::OnnxModel;
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sample_ensembles/digits-onnx");
//! # if !Path::new(folder).exists() { return Ok(()); }
//! # std::env::set_current_dir(folder)?;
//! let network = OnnxModel::open(Path::new("mlp.onnx"))?.network(None)?;
//! let graph = &network.graph;
//! let lowered = Arc::new(Lowered::new(graph, &network.weights)?);
//! let mut predictor = CpuPredictor::new(lowered, 1, None)?;
//!
//! // A batch of one sample, as rows of float32.
//! let input = host_rows(1, graph.input().elements())?;
//! let output = host_rows(1, graph.output().elements())?;
//! write_rows(&input, |values| values.fill(0.5))?;
//! predictor.predict(1, &input, &output)?;
//! let logits = read_rows(&output, <[f32]>::to_vec)?;
//! assert_eq!(logits.len(), 10);
//! # Ok(())
//! # }
//! ```
//!
//! Members, ensembles and requests are unknown here. This is the only crate with `unsafe`: in
//! kernels, in CUDA, for page-locked memory, for weights in mapped files, and for work that threads
//! borrow.

#![warn(missing_docs, unreachable_pub)]

pub mod compute;
pub mod device;
pub mod lock;
pub mod named;
pub mod network;
pub mod onnx;
pub mod reading;
pub mod tensor;
pub mod words;
