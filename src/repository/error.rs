//! Errors of a repository's models.

use std::fmt::Display;

use divisi_model::codes::{Code, Coded};
use divisi_runtime::reading::ReadError;
use thiserror::Error;

/// A model cannot be loaded. Other models of its repository are not affected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LoadFault {
    /// The repository has no such model.
    #[error("no model `{name}` in the repository; its models: {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The known names, or the first of them.
        known: Vec<String>,
    },
    /// A link leads out of the repository or has no target.
    #[error(transparent)]
    Link(ReadError),
    /// The model needs an unsupported feature.
    #[error("{what}; {instead}")]
    Unsupported {
        /// The field and its value.
        what: String,
        /// An alternative.
        instead: String,
    },
    /// A file is wrong or missing.
    #[error(transparent)]
    Invalid(#[from] ReadError),
}

impl LoadFault {
    /// Creates the error of a line of a file.
    pub(crate) fn of_line(file: &str, line: usize, reason: impl Display) -> Self {
        let wrong = ReadError::new(reason).at(format_args!("{file}:{line}"));
        LoadFault::Invalid(wrong)
    }
}

impl Coded for LoadFault {
    fn code(&self) -> Code {
        match self {
            LoadFault::Unknown { .. } => Code::ModelUnknown,
            LoadFault::Unsupported { .. } => Code::ModelUnsupported,
            _ => Code::ModelInvalid,
        }
    }
}
