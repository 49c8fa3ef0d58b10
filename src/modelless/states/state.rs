//! The four states.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The state of a variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariantState {
    /// The variant is not loaded.
    #[default]
    Inactive,
    /// The variant is loaded and has capacity left.
    Active,
    /// The variant is at or above its capacity.
    Overloaded,
    /// Other work slows down its batches although it has capacity left.
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
