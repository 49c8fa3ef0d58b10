//! A repository as the source of served models.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use divisi_engine::deployment::{
    ModelOverride, ModelSource, ModelsRead, ModelsToRead, ReadState, TakeBack,
};
use divisi_model::catalogue::NewEntry;
use divisi_runtime::lock::SharedLeaf;

use crate::known::{FolderStamp, KnownVersions};
use crate::overrides::OverriddenModel;
use crate::repository::{Repository, WantedModels, with_brought};

/// The models of a repository. Models with unchanged files stay the same objects when the
/// repository is read again, and so do models that several pipelines share.
pub struct RepositorySource {
    repository: Repository,
    known: SharedLeaf<Arc<KnownVersions>>,
    is_polled: bool,
}

impl RepositorySource {
    /// Creates a source for the models of a repository.
    pub fn new(repository: Repository) -> Self {
        RepositorySource {
            repository,
            known: SharedLeaf::default(),
            is_polled: false,
        }
    }

    /// Sets whether the files are polled for changes.
    #[must_use]
    pub fn polled(self, is_polled: bool) -> Self {
        RepositorySource { is_polled, ..self }
    }

    fn stamp(&self, name: &str) -> FolderStamp {
        let mut stamp = FolderStamp::new();
        collect_stamps(&self.repository.path().join(name), DEPTH, &mut stamp);
        stamp.sort();
        stamp
    }
}

/// Version folders lie in a model's folder, and folders of a network's weights in version folders.
const DEPTH: usize = 3;
/// The maximum number of files checked for changes.
const MOST_FILES: usize = 4096;

fn collect_stamps(folder: &Path, depth: usize, stamp: &mut FolderStamp) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        // A link without a target also counts, because it makes its model fail.
        let facts = std::fs::metadata(entry.path()).or_else(|_| entry.metadata());
        let Ok(facts) = facts else {
            continue;
        };
        if stamp.len() >= MOST_FILES {
            return;
        }
        match facts.is_dir() {
            true if depth > 1 => collect_stamps(&entry.path(), depth - 1, stamp),
            true => {}
            false => stamp.push((entry.path(), facts.modified().ok(), facts.len())),
        }
    }
}

impl ModelSource for RepositorySource {
    fn names(&self) -> Vec<String> {
        let names = self.repository.names().unwrap_or_default();
        with_brought(names, &self.known.read().overrides)
    }

    fn check(&self) -> Result<(), String> {
        let names = self.repository.names();
        names.map(drop).map_err(|error| error.to_string())
    }

    fn is_polled(&self) -> bool {
        self.is_polled
    }

    fn takes_overrides(&self) -> bool {
        true
    }

    fn override_model(
        &self,
        name: &str,
        by: Option<&ModelOverride>,
    ) -> Result<TakeBack<'_>, String> {
        let by = by.map(|by| OverriddenModel::new(name, by)).transpose()?;
        let mut known = self.known.write();
        let before = Arc::clone(&known);
        Arc::make_mut(&mut *known).override_by(name, by);
        drop(known);
        // Models read in the meantime are not served, so they are forgotten.
        Ok(Box::new(move || *self.known.write() = before))
    }

    fn read(&self, wanted: ModelsToRead<'_>) -> ModelsRead {
        let ModelsToRead { names, again, .. } = wanted;
        let after = wanted.after.and_then(ReadState::downcast);
        let after = after.unwrap_or_else(|| Arc::clone(&self.known.read()));
        let mut known = KnownVersions::clone(&after);
        let all = self.names_for(names, &known);
        known.forget(&gone(&known, &all, wanted.served));
        let is_served = |name: &str| wanted.served.iter().any(|entry| entry.name == name);
        let is_read = |name: &&String| again.names(name) || !is_served(name);
        let asked = known.needed_by(names);
        let there = asked.iter().filter(|name| all.contains(name));
        let there: Vec<&String> = there.filter(is_read).collect();
        let stamps = there.iter().map(|name| ((*name).clone(), self.stamp(name)));
        let stamps: BTreeMap<String, FolderStamp> = stamps.collect();
        let changed = |name: &&String| known.stamps.get(*name) != stamps.get(*name);
        let changed: Vec<String> = there.into_iter().filter(changed).cloned().collect();
        let mut read = ModelsRead::default();
        match changed.is_empty() {
            true => {}
            false => match self.repository.load_with(
                WantedModels::Named(&changed),
                &known.models,
                &known.overrides,
            ) {
                Ok(report) => known.take(report, &stamps, &mut read),
                Err(error) => {
                    let all = changed.into_iter();
                    read.failures
                        .extend(all.map(|name| (name, error.to_string())));
                }
            },
        }
        let failed = read.failures.keys().filter(|name| !is_served(name));
        let failed: Vec<String> = failed.cloned().collect();
        // Ignore results for models that are no longer requested.
        let needed = known.needed_by(names);
        read.failures
            .retain(|name, _| needed.contains(name) || !known.is_known(name));
        // Otherwise other models would be built from the old versions of the failed models.
        known.forget(&failed);
        read.entries = known.entries_of(names);
        note_gone(names, &all, &mut read);
        read.state = Some(ReadState::new(Arc::new(known)));
        read
    }

    fn serves(&self, read: &ReadState) {
        if let Some(known) = read.downcast() {
            *self.known.write() = known;
        }
    }
}

impl RepositorySource {
    /// Returns the names of all models. If the folder cannot be read, all wanted or known models
    /// count as present.
    fn names_for(&self, wanted: &BTreeSet<String>, known: &KnownVersions) -> Vec<String> {
        let names = self.repository.names().unwrap_or_else(|_| {
            let loaded = known.models.iter().map(|model| model.name.clone());
            loaded.chain(wanted.iter().cloned()).collect()
        });
        with_brought(names, &self.known.read().overrides)
    }
}

/// Returns the models that were loaded before, are not served and no longer exist.
fn gone(known: &KnownVersions, all: &[String], served: &[NewEntry]) -> Vec<String> {
    let names = known.models.iter().map(|model| &model.name);
    let is_gone =
        |name: &&String| !all.contains(name) && !served.iter().any(|entry| entry.name == **name);
    names.filter(is_gone).cloned().collect()
}

/// Notes models of `names`, and the models that they use, that no longer exist.
fn note_gone(names: &BTreeSet<String>, all: &[String], read: &mut ModelsRead) {
    let used = read.entries.iter().map(|entry| &entry.name);
    let gone = names.iter().chain(used).filter(|name| !all.contains(name));
    let reason_of = |name: &String| {
        let uses = |entry: &&NewEntry| entry.interface.composing.iter().any(|s| s.model == *name);
        match read.entries.iter().find(uses) {
            Some(user) => format!("its folder is gone, but `{}` still uses it", user.name),
            None => "its folder is gone".to_owned(),
        }
    };
    let reasons = gone.map(|name| (name.clone(), reason_of(name)));
    let reasons: BTreeMap<String, String> = reasons.collect();
    read.failures.extend(reasons);
}
