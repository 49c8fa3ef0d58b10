//! Repositories as manifests of ours, and ensembles of ours as repositories.

mod batching_text;
mod graph;
mod manifest;
mod members;
mod models;
mod own;
mod queueing;
mod to_manifests;
mod to_triton;
mod triton_text;
mod unsaid;
mod written;

use std::io;
use std::path::PathBuf;

use divisi_model::ensemble::EnsembleError;
use thiserror::Error;

use crate::error::RepositoryError;

pub use to_manifests::to_manifests;
pub use to_triton::{manifests_to_triton, to_triton};

/// Whether files of networks are copied, or named where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkFiles {
    /// Manifests name them where they are.
    Named,
    /// They are copied beside the manifests.
    Copied,
}

/// The models that were converted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// The files that were written, by their paths in the folder.
    pub written: Vec<String>,
    /// Settings that cannot be said in the other form, by the name of the model.
    pub unsaid: Vec<String>,
    /// Models that are not there, each with the reason.
    pub left_out: Vec<String>,
    /// How the files that were written can be served, where not as a repository.
    pub notes: Vec<String>,
}

/// Nothing was converted, or not all of it.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// The folder to write to is there, and not empty.
    #[error("{}: expected a new or empty folder", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// No folder of a repository has a manifest.
    #[error("{}: nothing to convert: no folder in this repository has a manifest", path.display())]
    NoManifests {
        /// The repository.
        path: PathBuf,
    },
    /// A file cannot be written or copied.
    #[error("{}: {error}", path.display())]
    Files {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The repository cannot be read.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The ensemble cannot be read.
    #[error(transparent)]
    Ensemble(#[from] EnsembleError),
}
