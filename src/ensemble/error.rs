//! What can be wrong with an ensemble's files.

use thiserror::Error;

/// Names the file, the place in it, the field and what was expected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EnsembleError {
    #[error("{file}: {reason}")]
    File { file: String, reason: String },
    #[error("{file}:{line}: {message}")]
    Place {
        file: String,
        line: usize,
        message: String,
    },
}

/// The line (from 1) of a byte offset.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    1 + text.as_bytes()[..end]
        .iter()
        .filter(|&&b| b == b'\n')
        .count()
}

impl EnsembleError {
    /// A TOML error with its line.
    pub(super) fn toml(file: String, text: &str, error: &toml::de::Error) -> Self {
        EnsembleError::Place {
            file,
            line: line_of(text, error.span().map_or(0, |s| s.start)),
            message: error.message().replace('\n', " "),
        }
    }
}
