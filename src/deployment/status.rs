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

/// Returns the names of the entries that use the model called `name`, themselves or through others.
pub(super) fn users_of(catalogue: &Catalogue, name: &str) -> Vec<String> {
    let mut used = vec![name];
    let mut next = 0;
    while let Some(of) = used.get(next).copied() {
        let entries = catalogue.entries().iter();
        for user in entries.filter(|entry| uses(catalogue, entry, of)) {
            if !used.contains(&user.name()) {
                used.push(user.name());
            }
        }
        next += 1;
    }
    used.into_iter().skip(1).map(str::to_owned).collect()
}

/// Whether a step of an entry is the model called `name`: as it says, else by the member that both hold.
fn uses(catalogue: &Catalogue, entry: &CatalogueEntry, name: &str) -> bool {
    let steps = &entry.interface().composing;
    if !steps.is_empty() || entry.columns().len() < 2 {
        return steps.iter().any(|step| step.model == name);
    }
    let entries = catalogue.entries().iter();
    let mut models = entries.filter(|of| of.name() == name && of.columns().len() == 1);
    models.any(|model| entry.columns().contains(&model.columns()[0]))
}
