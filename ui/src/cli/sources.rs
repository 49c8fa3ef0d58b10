//! The ensembles, networks and pipelines that a command line names, as models that can be loaded again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Result, bail};
use divisi::catalogue::{Interface, NewEntry};
use divisi::deployment::{ModelSource, ModelsRead};
use divisi::ensemble::{Ensemble, Files, MemberPrecision};

/// The models of files that were named one by one.
pub(crate) struct FileSource {
    models: Vec<NamedFiles>,
    precision: Option<MemberPrecision>,
}

/// A model, where its files are and how these looked when they were read.
struct NamedFiles {
    name: String,
    files: Files,
    stamp: std::sync::Mutex<FileStamps>,
}

/// The names, times and sizes of the files of a folder.
type FileStamps = Vec<(PathBuf, SystemTime, u64)>;

impl FileSource {
    /// Reads all models. Returns those that can be served.
    ///
    /// # Errors
    /// One of them cannot be read, or two have the same name.
    pub(crate) fn open(
        all: Vec<Files>,
        precision: Option<MemberPrecision>,
    ) -> Result<(Self, Vec<NewEntry>)> {
        let mut source = FileSource {
            models: Vec::new(),
            precision,
        };
        let mut entries: Vec<NewEntry> = Vec::new();
        for files in all {
            let stamp = stamp(&files);
            let entry = source.entry(&files)?;
            if entries.iter().any(|other| other.name == entry.name) {
                bail!(
                    "two ensembles are called `{}`: `name` in their manifests must differ",
                    entry.name
                );
            }
            source.models.push(NamedFiles {
                name: entry.name.clone(),
                files,
                stamp: std::sync::Mutex::new(stamp),
            });
            entries.push(entry);
        }
        Ok((source, entries))
    }

    fn entry(&self, files: &Files) -> Result<NewEntry> {
        let mut ensemble = Ensemble::read(files)?;
        if let Some(precision) = self.precision {
            ensemble.compute_in(precision);
        }
        let network = matches!(files, Files::Network { .. });
        let mut members = ensemble.members.iter();
        let interface = Interface {
            network,
            // NaN is no integer: whoever answers such fails instead.
            non_finite: network && members.all(|m| m.graph.signature().answers_floats()),
            ..Interface::default()
        };
        Ok(NewEntry::of(Arc::new(ensemble), interface))
    }

    /// Returns a model as it is served, or as it is now where its files changed.
    fn read_one(&self, model: &NamedFiles, served: &[NewEntry]) -> Result<NewEntry> {
        let now = stamp(&model.files);
        let before = served.iter().find(|entry| entry.name == model.name);
        let mut known = model
            .stamp
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let (Some(before), true) = (before, *known == now) {
            return Ok(before.clone());
        }
        let entry = self.entry(&model.files)?;
        if entry.name != model.name {
            bail!("it is called `{}` now", entry.name);
        }
        *known = now;
        Ok(entry)
    }
}

impl ModelSource for FileSource {
    fn names(&self) -> Vec<String> {
        self.models.iter().map(|model| model.name.clone()).collect()
    }

    fn read(&self, names: &BTreeSet<String>, served: &[NewEntry]) -> ModelsRead {
        let mut read = ModelsRead::default();
        for model in self.models.iter().filter(|m| names.contains(&m.name)) {
            match self.read_one(model, served) {
                Ok(entry) => read.entries.push(entry),
                Err(error) => {
                    read.failures
                        .insert(model.name.clone(), format!("{error:#}"));
                }
            }
        }
        read
    }
}

/// Returns how the files of a model look now; nothing of those that are compiled in.
fn stamp(files: &Files) -> FileStamps {
    let Some(manifest) = files.path(files.manifest()) else {
        return Vec::new();
    };
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let mut all: FileStamps = match files {
        Files::Network { .. } => look(&manifest).into_iter().collect(),
        _ => {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.filter_map(|entry| look(&entry.path())).collect()
        }
    };
    all.sort();
    all
}

fn look(path: &Path) -> Option<(PathBuf, SystemTime, u64)> {
    let facts = std::fs::metadata(path)
        .ok()
        .filter(|facts| facts.is_file())?;
    Some((path.to_owned(), facts.modified().ok()?, facts.len()))
}
