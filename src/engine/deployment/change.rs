//! A change of what is served, as somebody asks for it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A change of the models that are served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CatalogueChange {
    /// A model is loaded, or the versions of it that are there now.
    Load(String),
    /// A model is unloaded; with `dependents` also the pipelines that use it.
    Unload {
        /// The model's name.
        name: String,
        /// Unload what uses it, too.
        dependents: bool,
    },
    /// The source is read again: models that came, went or changed.
    Refresh,
    /// The models before the last change come back, with their matrix.
    Undo,
    /// The models that the last undo took back come again.
    Redo,
    /// Likewise, since the models of now did worse; says how.
    RollBack(String),
    /// A program that decides what is served ([`Deployment::serve`](super::Deployment::serve)) wants
    /// other models, or the same ones elsewhere.
    Scale,
}

impl CatalogueChange {
    /// Returns the model that it is about, or `None` if it is about all of them.
    pub fn model(&self) -> Option<&str> {
        match self {
            CatalogueChange::Load(name) | CatalogueChange::Unload { name, .. } => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for CatalogueChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CatalogueChange::Load(name) => write!(f, "load `{name}`"),
            CatalogueChange::Unload { name, dependents } => {
                let more = if *dependents { " and what uses it" } else { "" };
                write!(f, "unload `{name}`{more}")
            }
            CatalogueChange::Refresh => f.write_str("read the models again"),
            CatalogueChange::Undo => f.write_str("undo"),
            CatalogueChange::Redo => f.write_str("redo"),
            CatalogueChange::Scale => f.write_str("follow the load"),
            CatalogueChange::RollBack(why) => write!(f, "rolled back: {why}"),
        }
    }
}

/// How the engine of the new models follows the one that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Handover {
    /// It starts beside it, and takes requests over at one instant.
    #[default]
    Beside,
    /// The old one answers what it has and ends first; later requests wait for the new one.
    OldFirst,
}

/// How a change was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The time in which no request was begun, where the old engine ended first.
    pub gap: Option<Duration>,
}
