//! A repository as a source of the models that are served.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use divisi::catalogue::{BatchDimension, ComposingStep, Interface, NewEntry, Version};
use divisi::deployment::{ModelOverride, ModelSource, ModelsRead, TakeBack};
use divisi::ensemble::BatchSize;
use divisi::lock::Leaf;

use crate::batch::ModelRows;
use crate::loaded::{LoadFailure, LoadReport, LoadedModel};
use crate::overrides::{OverriddenModel, Overrides};
use crate::repository::{Repository, WantedModels, with_brought};

/// The models of a repository. Those whose files did not change are the same ones when they are read
/// again, and so are models that several pipelines use.
pub struct RepositorySource {
    repository: Repository,
    known: Leaf<KnownVersions>,
}

/// The models that were loaded, and how their files looked.
#[derive(Default)]
struct KnownVersions {
    models: Vec<Arc<LoadedModel>>,
    entries: Vec<(Arc<LoadedModel>, NewEntry)>,
    stamps: BTreeMap<String, FolderStamp>,
    /// Remarks that were made already.
    told: BTreeSet<String>,
    overrides: Overrides,
}

/// The paths, times and sizes of the files of a model.
type FolderStamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

impl RepositorySource {
    /// Serves the models of a repository.
    pub fn new(repository: Repository) -> Self {
        RepositorySource {
            repository,
            known: Leaf::default(),
        }
    }

    fn stamp(&self, name: &str) -> FolderStamp {
        let mut stamp = FolderStamp::new();
        look(&self.repository.path().join(name), DEPTH, &mut stamp);
        stamp.sort();
        stamp
    }
}

/// Folders of versions lie in that of a model, those of a network's weights in these.
const DEPTH: usize = 3;
/// The most files that are looked at for changes.
const MOST_FILES: usize = 4096;

fn look(folder: &Path, depth: usize, stamp: &mut FolderStamp) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(facts) = std::fs::metadata(entry.path()) else {
            continue;
        };
        if stamp.len() >= MOST_FILES {
            return;
        }
        match facts.is_dir() {
            true if depth > 1 => look(&entry.path(), depth - 1, stamp),
            true => {}
            false => stamp.push((entry.path(), facts.modified().ok(), facts.len())),
        }
    }
}

impl ModelSource for RepositorySource {
    fn names(&self) -> Vec<String> {
        let names = self.repository.names().unwrap_or_default();
        with_brought(names, &self.known.lock().overrides)
    }

    fn check(&self) -> Result<(), String> {
        let names = self.repository.names();
        names.map(drop).map_err(|error| error.to_string())
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
        let mut known = self.known.lock();
        let stamp = known.stamps.get(name).cloned();
        let before = match by {
            Some(by) => known.overrides.insert(name.to_owned(), Arc::new(by)),
            None => known.overrides.remove(name),
        };
        if before.is_some() || known.overrides.contains_key(name) {
            // Its files are looked at again, although they may be the same.
            known.stamps.remove(name);
        }
        let name = name.to_owned();
        Ok(Box::new(move || {
            self.known.lock().take_back(name, before, stamp);
        }))
    }

    fn read(&self, names: &BTreeSet<String>, _served: &[NewEntry]) -> ModelsRead {
        let there = self.names();
        let mut known = self.known.lock();
        let (there, gone): (Vec<&String>, _) = names.iter().partition(|n| there.contains(n));
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
        for name in gone {
            let reason = "its folder is gone".to_owned();
            read.failures.insert(name.clone(), reason);
        }
        read.entries = known.entries_of(names);
        read
    }
}

impl KnownVersions {
    /// Brings back how a model was read `before`, when its files had that stamp.
    fn take_back(
        &mut self,
        name: String,
        before: Option<Arc<OverriddenModel>>,
        stamp: Option<FolderStamp>,
    ) {
        let was_as_files_say = before.is_none();
        let after = match before {
            Some(before) => self.overrides.insert(name.clone(), before),
            None => self.overrides.remove(&name),
        };
        if was_as_files_say && after.is_none() {
            return;
        }
        let was_read = self.stamps.remove(&name).is_some();
        if let Some(stamp) = stamp.filter(|_| !was_read) {
            // What is known of it is from before.
            self.stamps.insert(name, stamp);
        }
    }

    /// Takes what was loaded; models that could not be loaded stay as they were.
    fn take(
        &mut self,
        report: LoadReport,
        stamps: &BTreeMap<String, FolderStamp>,
        read: &mut ModelsRead,
    ) {
        let LoadReport { models, failures } = report;
        for LoadFailure {
            name,
            version,
            fault,
        } in failures
        {
            let which = version.map_or_else(String::new, |v| format!("version {v}: "));
            let reason = format!("{which}{fault}");
            let told = read.failures.entry(name).or_default();
            match told.is_empty() {
                true => *told = reason,
                false => *told = format!("{told}; {reason}"),
            }
        }
        let failed = |model: &Arc<LoadedModel>| read.failures.contains_key(&model.name);
        let models: Vec<Arc<LoadedModel>> = models.into_iter().filter(|m| !failed(m)).collect();
        let is_new = |name: &str| models.iter().any(|model| model.name == name);
        self.models.retain(|model| !is_new(&model.name));
        self.entries.retain(|(model, _)| !is_new(&model.name));
        for model in models {
            if let Some(stamp) = stamps.get(&model.name) {
                self.stamps.insert(model.name.clone(), stamp.clone());
            }
            let name = &model.name;
            let notices = model.not_honoured.iter();
            let notices = notices.map(|field| {
                format!("model `{name}`: `{field}` of its config.pbtxt means nothing here")
            });
            let new = notices.filter(|notice| self.told.insert(notice.clone()));
            read.notices.extend(new);
            if let Some(entry) = entry(&model) {
                self.entries.push((Arc::clone(&model), entry));
            }
            self.models.push(model);
        }
    }

    /// Returns the entries of models, and of those that they use.
    fn entries_of(&self, names: &BTreeSet<String>) -> Vec<NewEntry> {
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
        let wanted = self
            .entries
            .iter()
            .filter(|(m, _)| wanted.contains(&m.name));
        wanted.map(|(_, entry)| entry.clone()).collect()
    }
}

/// Returns the models that do the steps of an ensemble.
fn composing(model: &LoadedModel) -> Vec<ComposingStep> {
    let steps = model.config.steps.iter().flatten();
    let steps = steps.map(|step| ComposingStep {
        model: step.model.clone(),
        version: step.version.and_then(Version::new),
        inputs: step.inputs.clone(),
        outputs: step.outputs.clone(),
    });
    steps.collect()
}

/// Returns the largest batch size that a configuration prefers, else that it allows, or `None` where it
/// sets no bound.
fn first_batch(model: &LoadedModel) -> Option<BatchSize> {
    let ModelRows::UpTo(most) = model.batch else {
        return None;
    };
    let preferred = model.config.batching.iter().flat_map(|b| &b.preferred);
    let wanted = preferred.copied().filter(|size| *size <= most).max();
    let offered = model.ensemble.batch_sizes.iter();
    offered
        .filter(|size| size.get() <= wanted.unwrap_or(most))
        .max()
}

/// Returns a model as what is served, or `None` for a version 0, which there is none of.
fn entry(model: &LoadedModel) -> Option<NewEntry> {
    let labels = model.labels.iter();
    Some(NewEntry {
        name: model.name.clone(),
        version: Version::new(model.version)?,
        ensemble: Arc::clone(&model.ensemble),
        interface: Interface {
            network: model.answers_itself(),
            batch: match model.batch {
                ModelRows::Absent => BatchDimension::None,
                ModelRows::Exactly(size) => BatchDimension::Exactly(size),
                ModelRows::UpTo(most) => BatchDimension::AtMost(most),
                ModelRows::Open => BatchDimension::Any,
            },
            labels: labels.cloned().collect(),
            uncached: !model.config.cached,
            composing: composing(model),
        },
        warmup: Arc::clone(&model.warmup),
        instances: model.config.instances.clone(),
        first_batch: first_batch(model),
    })
}
