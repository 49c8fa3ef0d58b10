//! The store of registered tasks, and the check whether its contents are still valid.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use divisi_model::ensemble::{Ensemble, Files};
use divisi_model::user_folders;
use divisi_registry::records::{RecordedSource, RegisteredModel, StaleProfile};
use divisi_registry::store::{PATIENCE, Store, StoreContents, StoreError};
use divisi_runtime::network::Shape;

use crate::{ServeError, ensemble_files};

/// The name of the store in the user's folder of data.
const NAME: &str = "tasks.redb";

/// The location of the store of registered tasks.
#[derive(Clone, Debug, Default)]
pub struct TaskStore(Option<PathBuf>);

impl TaskStore {
    /// Returns the store in a file, or the user's own store without a file.
    pub fn from_file(file: Option<PathBuf>) -> Self {
        TaskStore(file)
    }

    /// Returns the file of a store in a folder.
    pub fn file_in(folder: &Path) -> PathBuf {
        folder.join(NAME)
    }

    /// Returns the path for errors.
    pub fn name(&self) -> String {
        let path = self.path().unwrap_or_default();
        path.display().to_string()
    }

    fn path(&self) -> Result<PathBuf, ServeError> {
        let own = || user_folders::data().map(|folder| TaskStore::file_in(&folder));
        self.0.clone().or_else(own).ok_or(ServeError::NoHome)
    }

    fn failed(&self) -> impl FnOnce(StoreError) -> ServeError {
        let path = self.name();
        move |why| ServeError::Store {
            path,
            why: Box::new(why),
        }
    }

    /// Returns the time of the last write, or `None` if there is no file.
    pub fn written(&self) -> Option<SystemTime> {
        let path = self.path().ok()?;
        path.metadata().and_then(|file| file.modified()).ok()
    }

    /// Opens the store for writing, or creates one.
    ///
    /// # Errors
    /// It cannot be opened; the error names the file.
    pub fn open(&self) -> Result<Store, ServeError> {
        Store::open(&self.path()?, PATIENCE).map_err(self.failed())
    }

    /// Reads the store.
    ///
    /// # Errors
    /// It cannot be read; the error names the file.
    pub fn read(&self) -> Result<StoreContents, ServeError> {
        self.read_within(PATIENCE)
    }

    /// Reads the store as [`TaskStore::read`], and waits for at most `patience` while another
    /// program writes it.
    ///
    /// # Errors
    /// It cannot be read; the error names the file.
    pub(crate) fn read_within(&self, patience: Duration) -> Result<StoreContents, ServeError> {
        Store::read(&self.path()?, patience).map_err(self.failed())
    }

    /// Returns the place for reading an ensemble again, independent of the current folder.
    pub fn recorded(path: &Path, shape: Option<Shape>) -> RecordedSource {
        let whole = path.canonicalize();
        RecordedSource {
            path: whole.as_deref().unwrap_or(path).display().to_string(),
            shape,
        }
    }

    /// Returns the reason why a registered model is no longer valid, or `None` if it is valid.
    /// Reads its ensemble again.
    pub fn stale(model: &RegisteredModel) -> Option<StaleProfile> {
        model.record.read_again(TaskStore::read_again).err()
    }

    /// Reads an ensemble again from its recorded place.
    ///
    /// # Errors
    /// The ensemble cannot be read.
    pub fn read_again(source: &RecordedSource) -> Result<Ensemble, StaleProfile> {
        let unreadable = |why: ServeError| StaleProfile::Unreadable(why.to_string());
        let files = files_of(source).map_err(unreadable)?;
        Ensemble::read(&files).map_err(|why| unreadable(why.into()))
    }
}

fn files_of(source: &RecordedSource) -> Result<Files, ServeError> {
    let files = ensemble_files(Path::new(&source.path))?;
    match source.shape {
        Some(shape) => files.with_shape(shape).ok_or(ServeError::NoLongerAlone),
        None => Ok(files),
    }
}
