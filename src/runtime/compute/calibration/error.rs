//! Why a network could not be calibrated.

use thiserror::Error;

use crate::reading::ReadError;

/// A network could not be calibrated.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// The network or the samples as a whole are not suitable.
    #[error(transparent)]
    Unsuitable(#[from] ReadError),
    /// A sample has a number that is not finite.
    #[error("row {row}: expected finite numbers, found NaN or an infinity at position {at}")]
    Sample {
        /// The row, from 0.
        row: usize,
        /// The position in it, from 0.
        at: usize,
    },
    /// The answer to a sample is not finite.
    #[error("row {row}: expected a finite answer, found NaN or an infinity at position {at}")]
    Answer {
        /// The row, from 0.
        row: usize,
        /// The position in the answer, from 0.
        at: usize,
    },
    /// A layer to keep in float32 has no weights, or does not exist.
    #[error(
        "expected names of convolutions and fully connected layers, found `{name}`; the network has {}",
        some_of(known)
    )]
    Kept {
        /// The name.
        name: String,
        /// The names of the layers with weights.
        known: Vec<String>,
    },
    /// An operation on Candle's tensors failed.
    #[error("tensor operation: {0}")]
    Tensor(#[from] candle_core::Error),
}

/// The most names that an error lists.
const LISTED: usize = 20;

fn some_of(names: &[String]) -> String {
    match names.len().checked_sub(LISTED) {
        None | Some(0) => names.join(", "),
        Some(left) => format!("{} and {left} more", names[..LISTED].join(", ")),
    }
}
