//! Where models come from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::catalogue::NewEntry;

/// Brings back how a model was read before.
pub type TakeBack<'a> = Box<dyn FnOnce() + 'a>;

/// Models that can be served, such as those of a folder.
pub trait ModelSource: Send + Sync {
    /// Returns the names of all models that there are now.
    fn names(&self) -> Vec<String>;

    /// Checks that the models can be looked at now.
    ///
    /// # Errors
    /// They cannot be, so that none of their names says that one is gone; in words.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether models can be read otherwise than their files say.
    fn takes_overrides(&self) -> bool {
        false
    }

    /// Reads a model otherwise than its files say from now on, or again as they do. Returns what brings
    /// back how it was read before.
    ///
    /// # Errors
    /// The files cannot be; in words.
    fn override_model(
        &self,
        name: &str,
        by: Option<&ModelOverride>,
    ) -> Result<TakeBack<'_>, String> {
        let _ = (name, by);
        Ok(Box::new(|| {}))
    }

    /// Reads the models of these names, in every version that is to be served. Those that did not change
    /// since `served` was read, and members that several share, are the same ones again.
    fn read(&self, names: &BTreeSet<String>, served: &[NewEntry]) -> ModelsRead;
}

/// A model as somebody who loads it wants it, in place of what its files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOverride {
    /// Its configuration, as JSON.
    pub config: Option<String>,
    /// Its files by their paths in its folder; with any of them none of its own are read.
    pub files: Vec<(String, Vec<u8>)>,
}

impl ModelOverride {
    /// Whether the model is as its files say.
    pub fn is_none(&self) -> bool {
        self.config.is_none() && self.files.is_empty()
    }
}

/// The models that were read.
#[derive(Debug, Default)]
pub struct ModelsRead {
    /// Those that can be served.
    pub entries: Vec<NewEntry>,
    /// The others by name, with why they cannot.
    pub failures: BTreeMap<String, String>,
    /// Remarks for the operator, such as settings that mean nothing here.
    pub notices: Vec<String>,
}

impl ModelsRead {
    /// Lets models of `names` that could not be read now, and were served before, be served on.
    pub(super) fn keep_served(&mut self, names: &BTreeSet<String>, before: &[NewEntry]) {
        let failed = |entry: &NewEntry| self.failures.contains_key(&entry.name);
        self.entries
            .retain(|entry| !failed(entry) || is_among(entry, before));
        let is_wanted = |entry: &&NewEntry| names.contains(&entry.name) && failed(entry);
        let wanted = before.iter().filter(is_wanted);
        let missing = wanted.filter(|entry| !is_among(entry, &self.entries));
        let missing: Vec<NewEntry> = missing.cloned().collect();
        self.entries.extend(missing);
    }

    /// Whether these are the entries that were served before, in any order.
    pub(super) fn is_same(&self, before: &[NewEntry]) -> bool {
        let mut entries = self.entries.iter();
        self.entries.len() == before.len() && entries.all(|entry| is_among(entry, before))
    }
}

/// Whether an entry is one of some others.
fn is_among(entry: &NewEntry, others: &[NewEntry]) -> bool {
    others.iter().any(|other| {
        entry.name == other.name
            && entry.version == other.version
            && Arc::ptr_eq(&entry.ensemble, &other.ensemble)
            && entry.interface == other.interface
    })
}
