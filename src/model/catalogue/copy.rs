//! Copies of models: which reading of a model's files is served.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Catalogue, Version};

/// A version of a model as it was read once. A model whose files change is read as another copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelCopy {
    /// The name that clients use.
    pub name: Arc<str>,
    /// Its version.
    pub version: Version,
    /// The number of the copy, from 1. It is 0 for models that never change.
    pub copy: u64,
}

/// Served models, in the order of their catalogue.
pub type ServedCopies = Arc<[ModelCopy]>;

impl Catalogue {
    /// Returns the served models.
    pub fn copies(&self) -> &ServedCopies {
        &self.copies
    }

    /// Returns the catalogue with the number of the copy of each entry.
    #[must_use]
    pub fn with_copies(mut self, numbers: &[u64]) -> Self {
        let both = self.copies.iter().zip(numbers);
        let copies = both.map(|(model, copy)| ModelCopy {
            copy: *copy,
            ..model.clone()
        });
        self.copies = copies.collect();
        self
    }

    /// Returns the copies of entries that never change.
    pub(super) fn only_copies<'e>(
        entries: impl IntoIterator<Item = (&'e str, Version)>,
    ) -> ServedCopies {
        let copies = entries.into_iter().map(|(name, version)| ModelCopy {
            name: name.into(),
            version,
            copy: 0,
        });
        copies.collect()
    }
}
