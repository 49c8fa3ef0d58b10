//! Triton's model repositories, opened as they are.
//!
//! A repository is a folder with a folder for each model: its `config.pbtxt`, and a folder for each
//! version with the model's file. [`Repository::load`] makes ensembles of them that an engine can
//! serve, says which fields are not honoured, and why a model cannot be loaded. Whatever is read
//! is checked before it is used, and lies inside the repository.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

mod batch;
pub mod config;
pub mod convert;
mod described;
mod entry;
mod error;
mod folder;
mod known;
mod labels;
mod loaded;
mod manifest_files;
mod model;
mod not_honoured;
mod order;
mod overrides;
mod repository;
mod source;
mod steps;
mod text_format;
mod versions;
mod warmup;

pub use batch::ModelRows;
pub use error::{LoadFault, RepositoryError};
pub use labels::OutputLabels;
pub use loaded::{LoadFailure, LoadReport, LoadedModel, ModelVersion};
pub use repository::{Repository, WantedModels};
pub use source::RepositorySource;
