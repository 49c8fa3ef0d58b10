//! Converts repositories to Divisi's manifests, and ensembles to repositories.

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

/// How a conversion handles network files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkFiles {
    /// Manifests name the files at their present paths.
    Named,
    /// The files are copied next to the manifests.
    Copied,
}

/// The result of a conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// The written files, by their paths in the folder.
    pub written: Vec<String>,
    /// Settings that the other form does not support, each with the name of its model.
    pub unsaid: Vec<String>,
    /// Models that were not converted, each with the reason.
    pub left_out: Vec<String>,
    /// How to serve the written files, if they cannot be served as a repository.
    pub notes: Vec<String>,
}

/// A conversion that failed, or converted only a part.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// The output folder exists and is not empty.
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
