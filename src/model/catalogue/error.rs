//! Why models are no catalogue.

use thiserror::Error;

use super::Version;

/// Why models cannot be served together.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CatalogueError {
    /// Two have the same name and version.
    #[error("model `{name}` has version {version} twice")]
    Twice {
        /// The name.
        name: String,
        /// The version.
        version: Version,
    },
}
