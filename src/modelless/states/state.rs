//! The four states.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The state of a variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariantState {
    /// It is not loaded.
    #[default]
    Inactive,
    /// It is loaded and has room.
    Active,
    /// It has as much to do as it can, or more.
    Overloaded,
    /// Its batches take longer than in its profile, though it has room: others disturb it.
    Interfered,
}

impl fmt::Display for VariantState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VariantState::Inactive => "inactive",
            VariantState::Active => "active",
            VariantState::Overloaded => "overloaded",
            VariantState::Interfered => "interfered",
        })
    }
}
