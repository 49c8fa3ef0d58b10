//! The models named on a command line, as a source that can load them again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use divisi_engine::deployment::{ModelSource, ModelsRead, ModelsToRead, ReadState};
use divisi_model::catalogue::{Interface, NewEntry, Version};
use divisi_model::ensemble::{Ensemble, Files, MemberPrecision};
use divisi_runtime::lock::SharedLeaf;

use crate::ServeError;

/// Models from separately named files.
pub struct FileSource {
    models: Vec<NamedFiles>,
    precision: Option<MemberPrecision>,
    /// The state of the models' files at the last reading, by model name.
    read: SharedLeaf<Arc<AllFiles>>,
}

/// A model and its files.
struct NamedFiles {
    name: String,
    files: Files,
}

/// The names, times and sizes of the files of a folder.
type FileStamps = Vec<(PathBuf, SystemTime, u64)>;

/// The files of a model at the last reading.
#[derive(Clone, Debug)]
struct ReadFiles {
    stamps: FileStamps,
    /// The version of the model from these files. It rises with each reading of changed files.
    version: Version,
}

/// The files of several models, by name.
type AllFiles = BTreeMap<String, ReadFiles>;

impl FileSource {
    /// Reads all models, and returns the models that can be served.
    ///
    /// # Errors
    /// A model cannot be read, or two models have the same name.
    pub fn open(
        all: Vec<Files>,
        precision: Option<MemberPrecision>,
    ) -> Result<(Self, Vec<NewEntry>), ServeError> {
        let mut source = FileSource {
            models: Vec::new(),
            precision,
            read: SharedLeaf::default(),
        };
        let mut read = AllFiles::new();
        let mut entries: Vec<NewEntry> = Vec::new();
        for files in all {
            let stamps = stamp(&files);
            let entry = source.entry(&files)?;
            if entries.iter().any(|other| other.name == entry.name) {
                return Err(ServeError::SameName(entry.name));
            }
            let name = entry.name.clone();
            let version = entry.version;
            read.insert(name.clone(), ReadFiles { stamps, version });
            source.models.push(NamedFiles { name, files });
            entries.push(entry);
        }
        source.read = SharedLeaf::new(Arc::new(read));
        Ok((source, entries))
    }

    fn entry(&self, files: &Files) -> Result<NewEntry, ServeError> {
        let mut ensemble = Ensemble::read(files)?;
        if let Some(precision) = self.precision {
            ensemble.compute_in(precision);
        }
        let network = matches!(files, Files::Network { .. });
        let mut members = ensemble.members.iter();
        let interface = Interface {
            network,
            // Integers have no NaN, so a model with integer outputs fails instead.
            non_finite: network && members.all(|m| m.graph.signature().answers_floats()),
            ..Interface::default()
        };
        Ok(NewEntry::from_ensemble(Arc::new(ensemble), interface))
    }

    /// Returns a model as it is served, or reads it again if `again` is set and its files changed.
    /// Changed files are a new version of the model.
    fn read_one(
        &self,
        model: &NamedFiles,
        wanted: ModelsToRead<'_>,
        read: &mut AllFiles,
    ) -> Result<NewEntry, ServeError> {
        let mut served = wanted.served.iter();
        let before = served.find(|entry| entry.name == model.name);
        let stamps = stamp(&model.files);
        let last = read.get(&model.name);
        let is_unchanged = last.is_some_and(|last| last.stamps == stamps);
        if let Some(before) = before
            && (is_unchanged || !wanted.again.names(&model.name))
        {
            return Ok(before.clone());
        }
        let version = last.map_or(Version::MIN, |last| match is_unchanged {
            true => last.version,
            false => last.version.saturating_add(1),
        });
        let entry = NewEntry {
            version,
            ..self.entry(&model.files)?
        };
        if entry.name != model.name {
            return Err(ServeError::Renamed(entry.name));
        }
        read.insert(model.name.clone(), ReadFiles { stamps, version });
        Ok(entry)
    }
}

impl ModelSource for FileSource {
    fn names(&self) -> Vec<String> {
        self.models.iter().map(|model| model.name.clone()).collect()
    }

    fn read(&self, wanted: ModelsToRead<'_>) -> ModelsRead {
        let mut files = AllFiles::clone(&self.read.read());
        let mut read = ModelsRead::default();
        let is_wanted = |model: &&NamedFiles| wanted.names.contains(&model.name);
        for model in self.models.iter().filter(is_wanted) {
            match self.read_one(model, wanted, &mut files) {
                Ok(entry) => read.entries.push(entry),
                Err(error) => {
                    read.failures.insert(model.name.clone(), error.to_string());
                }
            }
        }
        read.state = Some(ReadState::new(Arc::new(files)));
        read
    }

    fn serves(&self, read: &ReadState) {
        if let Some(files) = read.downcast() {
            *self.read.write() = files;
        }
    }
}

/// Returns the present state of a model's files. Compiled-in files have no state.
fn stamp(files: &Files) -> FileStamps {
    let Some(manifest) = files.path(files.manifest()) else {
        return Vec::new();
    };
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let mut all: FileStamps = match files {
        Files::Network { .. } => file_stamp(&manifest).into_iter().collect(),
        _ => {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries
                .filter_map(|entry| file_stamp(&entry.path()))
                .collect()
        }
    };
    all.sort();
    all
}

fn file_stamp(path: &Path) -> Option<(PathBuf, SystemTime, u64)> {
    let facts = std::fs::metadata(path)
        .ok()
        .filter(|facts| facts.is_file())?;
    Some((path.to_owned(), facts.modified().ok()?, facts.len()))
}
