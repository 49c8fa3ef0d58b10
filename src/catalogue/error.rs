//! Why models are no catalogue.

use thiserror::Error;

use super::Version;

/// Why models cannot be served together.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CatalogueError {
    /// There is no model.
    #[error("there is no model to serve")]
    Empty,
    /// Two have the same name and version.
    #[error("model `{name}`, version {version}, is there twice")]
    Twice {
        /// The name.
        name: String,
        /// The version.
        version: Version,
    },
}
