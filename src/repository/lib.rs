//! Reads Triton's model repositories as models that Divisi serves.
//!
//! A repository is a folder with one folder for each model: its `config.pbtxt`, and a folder with
//! the model's file for each version. [`Repository::load`] returns ensembles that an engine can
//! serve, the settings that are not applied as written, and the reason for each model that cannot
//! be loaded. [`convert`] converts repositories to Divisi's manifests and manifests to
//! repositories. All files are checked before use and must lie inside the repository.

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
pub use error::LoadFault;
pub use labels::OutputLabels;
pub use loaded::{LoadFailure, LoadReport, LoadedModel, ModelVersion};
pub use repository::{Repository, WantedModels};
pub use source::RepositorySource;
