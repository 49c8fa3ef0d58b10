//! Triton's model repositories, opened as they are.
//!
//! A repository is a folder with a folder for each model: its `config.pbtxt`, and a folder for each
//! version with the model's file. [`Repository::load`] makes ensembles of them that an engine can
//! serve, says which fields are not honoured, and why a model cannot be loaded. Whatever is read
//! is checked before it is used, and lies inside the repository.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod config;
mod error;
mod text_format;

pub use error::{LoadFault, RepositoryError};
