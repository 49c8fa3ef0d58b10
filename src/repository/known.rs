//! The loaded models of a repository, and the state of their files at loading time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use divisi_engine::deployment::ModelsRead;
use divisi_model::catalogue::NewEntry;

use crate::entry::entry;
use crate::loaded::{LoadFailure, LoadReport, LoadedModel, with_users};
use crate::overrides::{OverriddenModel, Overrides};

/// The loaded versions of a repository's models.
#[derive(Clone, Default)]
pub(crate) struct KnownVersions {
    pub(crate) models: Vec<Arc<LoadedModel>>,
    entries: Vec<(Arc<LoadedModel>, NewEntry)>,
    /// The file stamps of models that were loaded from their files.
    pub(crate) stamps: BTreeMap<String, FolderStamp>,
    /// Remarks already made.
    told: BTreeSet<String>,
    pub(crate) overrides: Overrides,
}

/// The paths, times and sizes of the files of a model.
pub(crate) type FolderStamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

impl KnownVersions {
    /// Overrides the files of a model, or returns to its files with `None`.
    pub(crate) fn override_by(&mut self, name: &str, by: Option<OverriddenModel>) {
        if by.is_none() && !self.overrides.contains_key(name) {
            return;
        }
        // The files must be read again, even if they did not change.
        self.stamps.remove(name);
        match by {
            Some(by) => self.overrides.insert(name.to_owned(), Arc::new(by)),
            None => self.overrides.remove(name),
        };
    }

    /// Stores loaded models. Models that failed to load keep their previous state, and so do models
    /// that use them.
    pub(crate) fn take(
        &mut self,
        report: LoadReport,
        stamps: &BTreeMap<String, FolderStamp>,
        read: &mut ModelsRead,
    ) {
        let LoadReport { models, failures } = report;
        note_failures(failures, &mut read.failures);
        self.keep_users(&models, &mut read.failures);
        for name in read.failures.keys() {
            // The model is read again until it loads, so that the reason of its failure stays
            // known.
            self.stamps.remove(name);
        }
        let is_sound = |model: &Arc<LoadedModel>| !read.failures.contains_key(&model.name);
        let models: Vec<Arc<LoadedModel>> = models.into_iter().filter(is_sound).collect();
        let is_new = |name: &str| models.iter().any(|model| model.name == name);
        self.models.retain(|model| !is_new(&model.name));
        self.entries.retain(|(model, _)| !is_new(&model.name));
        for model in models {
            if let Some(stamp) = stamps.get(&model.name) {
                self.stamps.insert(model.name.clone(), stamp.clone());
            }
            self.remark(&model, &mut read.notices);
            if let Some(entry) = entry(&model) {
                self.entries.push((Arc::clone(&model), entry));
            }
            self.models.push(model);
        }
    }

    /// Keeps the previous state of loaded models that use a model which failed to load, and notes
    /// the reason. Otherwise each reading would build them again from its old version.
    fn keep_users(&self, models: &[Arc<LoadedModel>], failures: &mut BTreeMap<String, String>) {
        // Each model comes after the models that it uses.
        for model in models {
            let mut used = model.uses.iter();
            let failed = used.find(|used| failures.contains_key(&used.name));
            if let Some(used) = failed.filter(|_| self.is_known(&model.name)) {
                let reason = format!("it uses model `{}`, which was not loaded", used.name);
                failures.entry(model.name.clone()).or_insert(reason);
            }
        }
    }

    /// Returns whether a model was loaded.
    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.models.iter().any(|known| known.name == name)
    }

    /// Remarks once on the settings of a configuration that are not applied.
    fn remark(&mut self, model: &LoadedModel, notices: &mut Vec<String>) {
        let name = &model.name;
        let all = model.not_honoured.iter();
        let all = all.map(|field| format!("model `{name}`: not applied as written: {field}"));
        notices.extend(all.filter(|notice| self.told.insert(notice.clone())));
    }

    /// Forgets models and their users, as if they had never been loaded.
    pub(crate) fn forget(&mut self, names: &[String]) {
        let theirs = with_users(names, &self.models);
        let stays = |name: &String| !theirs.contains(name);
        self.models.retain(|model| stays(&model.name));
        self.entries.retain(|(model, _)| stays(&model.name));
        self.stamps.retain(|name, _| stays(name));
    }

    /// Returns the names of models and of the models that they use.
    pub(crate) fn needed_by(&self, names: &BTreeSet<String>) -> BTreeSet<String> {
        let mut wanted = names.clone();
        loop {
            let users = self.models.iter().filter(|m| wanted.contains(&m.name));
            let used = users.flat_map(|m| m.uses.iter().map(|used| used.name.clone()));
            let more: Vec<String> = used.filter(|name| !wanted.contains(name)).collect();
            if more.is_empty() {
                break;
            }
            wanted.extend(more);
        }
        wanted
    }

    /// Returns the entries of models and of the models that they use.
    pub(crate) fn entries_of(&self, names: &BTreeSet<String>) -> Vec<NewEntry> {
        let needed = self.needed_by(names);
        let entries = self.entries.iter();
        let wanted = entries.filter(|(m, _)| needed.contains(&m.name));
        wanted.map(|(_, entry)| entry.clone()).collect()
    }
}

/// Notes the reasons why models were not loaded, combined for the versions of one model.
fn note_failures(failures: Vec<LoadFailure>, told: &mut BTreeMap<String, String>) {
    for LoadFailure {
        name,
        version,
        fault,
    } in failures
    {
        let which = version.map_or_else(String::new, |v| format!("version {v}: "));
        let reason = format!("{which}{fault}");
        let told = told.entry(name).or_default();
        match told.is_empty() {
            true => *told = reason,
            false => *told = format!("{told}; {reason}"),
        }
    }
}
