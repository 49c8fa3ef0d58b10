//! What can be wrong with files of samples and labels.

use thiserror::Error;

/// Why a file gives no samples or labels.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SamplesError {
    #[error("expected a .csv or .npy file")]
    Kind,
    #[error("expected at least one sample, found none")]
    Empty,
    #[error("line {line}: {reason}")]
    Line { line: u64, reason: String },
    /// Of an `.npy`, counted from 0.
    #[error("row {row}: {reason}")]
    Row { row: usize, reason: String },
    #[error("expected {expected} values a sample, found {found}")]
    Width { expected: usize, found: usize },
    #[error("expected a label for each of {expected} samples, found {found}")]
    Labels { expected: usize, found: usize },
    #[error("not a readable .npy file: {0}")]
    Npy(String),
    #[error("sample {sample}: value {value} is not a finite number")]
    NotFinite { sample: usize, value: usize },
    #[error("line 1: expected a header that names the columns, found numbers")]
    NoHeader,
    #[error("the samples have labels of their own (their last column, `label`)")]
    LabelledTwice,
}
