//! The models of a repository that were loaded, and how their files looked then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use divisi_engine::deployment::ModelsRead;
use divisi_model::catalogue::NewEntry;

use crate::entry::entry;
use crate::loaded::{LoadFailure, LoadReport, LoadedModel, with_users};
use crate::overrides::{OverriddenModel, Overrides};

/// See the module's text.
#[derive(Clone, Default)]
pub(crate) struct KnownVersions {
    pub(crate) models: Vec<Arc<LoadedModel>>,
    entries: Vec<(Arc<LoadedModel>, NewEntry)>,
    /// Of models that were loaded as their files are.
    pub(crate) stamps: BTreeMap<String, FolderStamp>,
    /// Remarks that were made already.
    told: BTreeSet<String>,
    pub(crate) overrides: Overrides,
}

/// The paths, times and sizes of the files of a model.
pub(crate) type FolderStamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

impl KnownVersions {
    /// Reads a model otherwise from now on, or again as its files say.
    pub(crate) fn override_by(&mut self, name: &str, by: Option<OverriddenModel>) {
        if by.is_none() && !self.overrides.contains_key(name) {
            return;
        }
        // Its files are looked at again, although they may be the same.
        self.stamps.remove(name);
        match by {
            Some(by) => self.overrides.insert(name.to_owned(), Arc::new(by)),
            None => self.overrides.remove(name),
        };
    }

    /// Takes what was loaded. Models that could not be loaded stay as they were, and so do those that
    /// use them.
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
            // It is read again until it can be loaded, so that it is known why it is not.
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

    /// Lets models that were loaded before stay as they were where one that they use could not be
    /// loaded, with the reason: made of its old version, they would be others at each look.
    fn keep_users(&self, models: &[Arc<LoadedModel>], failures: &mut BTreeMap<String, String>) {
        // Each comes after those that it uses.
        for model in models {
            let mut used = model.uses.iter();
            let failed = used.find(|used| failures.contains_key(&used.name));
            if let Some(used) = failed.filter(|_| self.is_known(&model.name)) {
                let reason = format!("it uses model `{}`, which was not loaded", used.name);
                failures.entry(model.name.clone()).or_insert(reason);
            }
        }
    }

    /// Whether a model was loaded.
    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.models.iter().any(|known| known.name == name)
    }

    /// Remarks, once, on what a configuration asks for and is not honoured.
    fn remark(&mut self, model: &LoadedModel, notices: &mut Vec<String>) {
        let name = &model.name;
        let all = model.not_honoured.iter();
        let all = all.map(|field| format!("model `{name}`: not applied as written: {field}"));
        notices.extend(all.filter(|notice| self.told.insert(notice.clone())));
    }

    /// Forgets models and those that use them, as if they had never been loaded.
    pub(crate) fn forget(&mut self, names: &[String]) {
        let theirs = with_users(names, &self.models);
        let stays = |name: &String| !theirs.contains(name);
        self.models.retain(|model| stays(&model.name));
        self.entries.retain(|(model, _)| stays(&model.name));
        self.stamps.retain(|name, _| stays(name));
    }

    /// Returns the names of models, and of those that they use.
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

    /// Returns the entries of models, and of those that they use.
    pub(crate) fn entries_of(&self, names: &BTreeSet<String>) -> Vec<NewEntry> {
        let needed = self.needed_by(names);
        let entries = self.entries.iter();
        let wanted = entries.filter(|(m, _)| needed.contains(&m.name));
        wanted.map(|(_, entry)| entry.clone()).collect()
    }
}

/// Notes why models were not loaded, those of several versions of one together.
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
