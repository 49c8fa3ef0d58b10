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

use divisi_model::ensemble::EnsembleError;
use divisi_runtime::reading::ReadError;
use thiserror::Error;

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
    /// The repository cannot be read, or the output folder is not empty or cannot be written.
    #[error(transparent)]
    Files(#[from] ReadError),
    /// The ensemble cannot be read.
    #[error(transparent)]
    Ensemble(#[from] EnsembleError),
}
