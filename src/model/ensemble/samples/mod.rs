//! Samples from files (tables, arrays, JSON, images, texts), or synthetic samples.
//!
//! Values keep their file's type and are converted to float32 one batch at a time. Bytes and images
//! need a quarter of the memory of float32.

mod boxes;
mod csv;
mod error;
mod files;
mod form;
mod images;
mod json;
mod named;
mod npy;
mod npz;
mod rows;
mod table;
mod target_rows;
mod targets;
mod text;
mod token_targets;

pub use form::{Classes, ImageLayout, SampleForm};
pub use images::{ImageFit, to_mask_png};
pub use npy::{to_npy, to_npy_classes};
pub use rows::Samples;
pub use targets::{IGNORED, SampleTarget, TargetColumns, TargetNumbers, Targets};
pub use text::{MOST_TOKENIZER, SampleText, TextInput, TextTokenizer, TokenTensor, TokenizerError};
