//! How each model stands.

use std::collections::BTreeMap;

use crate::catalogue::{Catalogue, CatalogueEntry, Version};

/// Whether a model is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadState {
    /// It is served.
    Loaded,
    /// It is not; says why.
    Unloaded(String),
}

/// A version of a model, loaded or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelStatus {
    /// The model's name.
    pub name: String,
    /// Its version, or `None` where none was read.
    pub version: Option<Version>,
    /// Whether it is served.
    pub state: LoadState,
    /// Why its newest files are not those that are served, if so.
    pub failure: Option<String>,
}

/// Returns the models of a catalogue, then those that are not in it.
pub(super) fn all(
    catalogue: &Catalogue,
    names: Vec<String>,
    failures: &BTreeMap<String, String>,
) -> Vec<ModelStatus> {
    let loaded = catalogue.entries().iter().map(|entry| ModelStatus {
        name: entry.name().to_owned(),
        version: Some(entry.version()),
        state: LoadState::Loaded,
        failure: failures.get(entry.name()).cloned(),
    });
    let mut all: Vec<ModelStatus> = loaded.collect();
    let others = names.into_iter().chain(failures.keys().cloned());
    for name in others {
        if all.iter().any(|known| known.name == name) {
            continue;
        }
        let reason = failures.get(&name).cloned();
        all.push(ModelStatus {
            name,
            version: None,
            state: LoadState::Unloaded(reason.clone().unwrap_or_else(|| "unloaded".into())),
            failure: reason,
        });
    }
    all
}

/// Returns the names of the entries that use a member of the model called `name`, without the model.
pub(super) fn users_of(catalogue: &Catalogue, name: &str) -> Vec<String> {
    let entries = catalogue.entries();
    let models = entries.iter().filter(|entry| entry.name() == name);
    let columns: Vec<_> = models.flat_map(|m| m.columns().iter().copied()).collect();
    let uses = |entry: &&CatalogueEntry| {
        entry.name() != name && entry.columns().iter().any(|c| columns.contains(c))
    };
    let is_larger = |entry: &&CatalogueEntry| entry.columns().len() > 1;
    let mut users: Vec<String> = entries
        .iter()
        .filter(uses)
        .filter(is_larger)
        .map(|entry| entry.name().to_owned())
        .collect();
    users.dedup();
    users
}
