//! The identity of a model.

use crate::error::{ErrorKind, ServiceError};

/// A model by name and, if requested, by version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelId {
    /// Its name.
    pub name: String,
    /// Its version; `None` for the served one.
    pub version: Option<String>,
}

impl ModelId {
    /// Creates the identity of a model; an empty version means none.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        ModelId {
            name: name.into(),
            version: Some(version.into()).filter(|version| !version.is_empty()),
        }
    }

    /// Returns the error of a missing model.
    pub fn unknown(&self) -> ServiceError {
        let name = &self.name;
        let message = match &self.version {
            Some(version) => format!("no model `{name}` of version `{version}` is served"),
            None => format!("no model `{name}` is served"),
        };
        ServiceError::new(ErrorKind::NotFound, message)
    }

    /// Returns the error of a missing version of a model that is served in other versions.
    pub fn unknown_version(&self, served: &[String]) -> ServiceError {
        let (Some(version), [_, ..]) = (&self.version, served) else {
            return self.unknown();
        };
        let (name, served) = (&self.name, served.join(", "));
        let message = format!(
            "no model `{name}` of version `{version}` is served; expected version {served}, or \
             none for the newest"
        );
        ServiceError::new(ErrorKind::NotFound, message)
    }
}
