//! A requested change of the served models.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A change of the served models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CatalogueChange {
    /// Load a model, or its current versions.
    Load(String),
    /// Unload a model, with `dependents` also the pipelines that use it.
    Unload {
        /// The model's name.
        name: String,
        /// Also unload the pipelines that use the model.
        dependents: bool,
    },
    /// Read the source again for new, removed and changed models.
    Refresh,
}

impl CatalogueChange {
    /// Returns the model to load or unload, or `None` if the change is about all models.
    pub fn model(&self) -> Option<&str> {
        match self {
            CatalogueChange::Load(name) | CatalogueChange::Unload { name, .. } => Some(name),
            CatalogueChange::Refresh => None,
        }
    }
}

impl fmt::Display for CatalogueChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CatalogueChange::Load(name) => write!(f, "load `{name}`"),
            CatalogueChange::Unload { name, dependents } => {
                let more = if *dependents { " and its users" } else { "" };
                write!(f, "unload `{name}`{more}")
            }
            CatalogueChange::Refresh => f.write_str("read the models again"),
        }
    }
}

/// The order in which the engine of the new models replaces the running one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Handover {
    /// The new engine starts next to the old one, then takes over all requests at one instant.
    #[default]
    Beside,
    /// The old engine answers its requests and ends first. Later requests wait for the new engine.
    OldFirst,
}

/// The result of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The time in which no request could begin, or `None` if the engines ran side by side.
    pub gap: Option<Duration>,
}
