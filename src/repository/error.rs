//! Errors of a repository and of its models.

use std::io;
use std::path::PathBuf;

use divisi_model::codes::{Code, Coded};
use thiserror::Error;

/// A repository cannot be read.
#[derive(Debug, Error)]
pub enum RepositoryError {
    /// Its folder cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The path is not a folder.
    #[error("{}: expected a model repository (a folder with one folder per model)", path.display())]
    NoFolder {
        /// The path.
        path: PathBuf,
    },
    /// It has too many folders to be a repository.
    #[error("{}: expected at most {most} models", path.display())]
    TooMany {
        /// The folder.
        path: PathBuf,
        /// The maximum number of models.
        most: usize,
    },
}

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
    /// A line of a file is wrong.
    #[error("{file}:{line}: {message}")]
    Line {
        /// The file, by its path in the repository.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The field and the expected value.
        message: String,
    },
    /// A whole file is wrong or missing.
    #[error("{file}: {reason}")]
    File {
        /// The file, by its path in the repository.
        file: String,
        /// The reason.
        reason: String,
    },
    /// A link leads out of the repository.
    #[error("{file}: the link leads out of the repository")]
    Outside {
        /// The link, by its path in the repository.
        file: String,
    },
    /// The target of a link does not exist.
    #[error("{file}: the target of the link does not exist")]
    Dangling {
        /// The link, by its path in the repository.
        file: String,
    },
    /// A name does not denote a file in the model's folder.
    #[error("`{file}` leads out of the model's folder")]
    OutsideOfFolder {
        /// The name.
        file: String,
    },
    /// The model needs an unsupported feature.
    #[error("{what}; {instead}")]
    Unsupported {
        /// The field and its value.
        what: String,
        /// An alternative.
        instead: String,
    },
    /// A model that an ensemble uses is not available.
    #[error("{file}:{line}: step `{step}`: {reason}")]
    Needs {
        /// The ensemble's file.
        file: String,
        /// The line of the step.
        line: usize,
        /// The model that it uses.
        step: String,
        /// The reason.
        reason: String,
    },
    /// Ensembles use each other in a cycle.
    #[error(
        "{file}:{line}: step `{step}`: ensembles use each other in a cycle: {}",
        models.join(" → ")
    )]
    Circle {
        /// The ensemble's file.
        file: String,
        /// The line of the step.
        line: usize,
        /// The step's model, which is part of the cycle or leads to it.
        step: String,
        /// The names in the cycle, each after a model that uses it.
        models: Vec<String>,
    },
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
