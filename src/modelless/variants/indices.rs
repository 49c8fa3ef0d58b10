//! Indices of tasks, models and variants in a catalogue.

use serde::{Deserialize, Serialize};

/// The index of a task in a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskIndex(pub u16);

/// The index of an ensemble or model within its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelIndex(pub u16);

/// The index of a variant in a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VariantIndex(pub u32);

impl VariantIndex {
    /// Returns the index as a number.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}
