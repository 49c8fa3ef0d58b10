//! The status of each model.

use std::collections::{BTreeMap, BTreeSet};

use divisi_model::catalogue::{Catalogue, CatalogueEntry, NewEntry, Version};

/// The load state of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadState {
    /// The model is served.
    Loaded,
    /// The model is not served; holds the reason.
    Unloaded(String),
}

/// A version of a model, loaded or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelStatus {
    /// The model's name.
    pub name: String,
    /// The model's version, or `None` if none was read.
    pub version: Option<Version>,
    /// Whether it is served.
    pub state: LoadState,
    /// The reason why the newest files are not the served ones, or `None` if they are.
    pub failure: Option<String>,
}

/// The most unserved versions of a model in the status. The highest versions are kept.
const MOST_VERSIONS: usize = 64;

/// Returns the status of the models of a catalogue, then of models outside it. Versions that were
/// served `before` stay listed while the model exists.
pub(super) fn model_statuses(
    catalogue: &Catalogue,
    names: Vec<String>,
    failures: &BTreeMap<String, String>,
    before: &[ModelStatus],
) -> Vec<ModelStatus> {
    let loaded = catalogue.entries().iter().map(|entry| ModelStatus {
        name: entry.name().to_owned(),
        version: Some(entry.version()),
        state: LoadState::Loaded,
        failure: failures.get(entry.name()).cloned(),
    });
    let served = catalogue.entries().iter().map(CatalogueEntry::name);
    let known = names.iter().chain(failures.keys()).map(String::as_str);
    let known: BTreeSet<&str> = served.chain(known).collect();
    let unloaded = known.into_iter().flat_map(|name| {
        let is_served = catalogue.find(name, None).is_some();
        let failure = failures.get(name).filter(|_| !is_served);
        let versions = gone(catalogue, name, before).map(Some);
        let mut versions: Vec<Option<Version>> = versions.collect();
        if versions.is_empty() && !is_served {
            versions.push(None);
        }
        let unloaded = versions.into_iter().map(|version| {
            let reason = failure.map_or(unserved(version), String::as_str);
            ModelStatus {
                name: name.to_owned(),
                version,
                state: LoadState::Unloaded(reason.to_owned()),
                failure: failure.cloned(),
            }
        });
        unloaded.collect::<Vec<_>>()
    });
    loaded.chain(unloaded).collect()
}

/// Returns the status of a model that appeared in its source and has not been read yet.
pub(super) fn not_loaded(name: String) -> ModelStatus {
    ModelStatus {
        name,
        version: None,
        state: LoadState::Unloaded(unserved(None).to_owned()),
        failure: None,
    }
}

/// Returns the reason for not serving a model that did not fail. A model without a version was
/// never loaded.
fn unserved(version: Option<Version>) -> &'static str {
    match version {
        Some(_) => "unloaded",
        None => "not loaded",
    }
}

/// Returns the versions of a model that were served before and no longer are, the highest first.
fn gone(
    catalogue: &Catalogue,
    name: &str,
    before: &[ModelStatus],
) -> impl Iterator<Item = Version> {
    let named = before.iter().filter(|status| status.name == name);
    let versions: BTreeSet<Version> = named.filter_map(|status| status.version).collect();
    let gone = versions.into_iter().rev();
    let gone = gone.filter(|version| catalogue.find(name, Some(*version)).is_none());
    gone.take(MOST_VERSIONS)
}

/// Returns the names of the entries that use the model called `name`, directly or indirectly.
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

/// Returns the names of the entries that the entry called `name` uses, directly or indirectly.
pub(super) fn parts_of(catalogue: &Catalogue, name: &str) -> BTreeSet<String> {
    let entries = catalogue.entries().iter();
    let is_used = |part: &&str| users_of(catalogue, part).iter().any(|user| user == name);
    let parts = entries.map(CatalogueEntry::name).filter(is_used);
    parts.map(str::to_owned).collect()
}

/// Returns the entries of the model called `name` whose versions are not among the new ones.
pub(super) fn versions_lost<'c>(
    catalogue: &'c Catalogue,
    name: &str,
    next: &[NewEntry],
) -> Vec<&'c CatalogueEntry> {
    let served = catalogue
        .entries()
        .iter()
        .filter(|entry| entry.name() == name);
    let comes = |entry: &&CatalogueEntry| {
        let mut next = next.iter();
        next.any(|new| new.name == name && new.version == entry.version())
    };
    served.filter(|entry| !comes(entry)).collect()
}

/// Returns whether a version of the entry called `user` contains all members of one of `parts`.
pub(super) fn is_part_of_any(parts: &[&CatalogueEntry], catalogue: &Catalogue, user: &str) -> bool {
    let mut users = catalogue
        .entries()
        .iter()
        .filter(|entry| entry.name() == user);
    users.any(|user| {
        let is_part = |part: &&CatalogueEntry| {
            let mut columns = part.columns().iter();
            columns.all(|column| user.columns().contains(column))
        };
        parts.iter().any(is_part)
    })
}

/// Returns whether a step of an entry is the model called `name`: by the declared name, otherwise
/// by a shared member.
fn uses(catalogue: &Catalogue, entry: &CatalogueEntry, name: &str) -> bool {
    let steps = &entry.interface().composing;
    if !steps.is_empty() || entry.columns().len() < 2 {
        return steps.iter().any(|step| step.model == name);
    }
    let entries = catalogue.entries().iter();
    let mut models = entries.filter(|of| of.name() == name && of.columns().len() == 1);
    models.any(|model| entry.columns().contains(&model.columns()[0]))
}
