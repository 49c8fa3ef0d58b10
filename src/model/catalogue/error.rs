//! Errors of a catalogue.

use thiserror::Error;

use super::Version;

/// The reason why models cannot be served together.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CatalogueError {
    /// Two models have the same name and version.
    #[error("model `{name}` has version {version} twice")]
    Twice {
        /// The name.
        name: String,
        /// The version.
        version: Version,
    },
}
