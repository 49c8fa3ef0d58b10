//! The store of registered tasks, as commands open it, and whether what is in it still holds.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use divisi::ensemble::{Ensemble, Files};
use divisi::user_folders;
use divisi_registry::records::{RecordedSource, RegisteredModel, StaleProfile};
use divisi_registry::store::{PATIENCE, Store, StoreContents};

use super::open::files;

/// The name of the store in the user's folder of data.
const NAME: &str = "tasks.redb";

/// Where the store of registered tasks is.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// The file of registered tasks, instead of the user's own
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

impl StoreArgs {
    /// Returns those of a store in a folder.
    pub(super) fn at(folder: &Path) -> Self {
        StoreArgs {
            store: Some(folder.join(NAME)),
        }
    }

    /// Returns the path of the store in words, for errors.
    pub(crate) fn name(&self) -> String {
        let path = self.path().unwrap_or_default();
        path.display().to_string()
    }

    /// Returns the path of the store.
    fn path(&self) -> Result<PathBuf> {
        let own = || user_folders::data().map(|folder| folder.join(NAME));
        let path = self.store.clone().or_else(own);
        path.context("there is no home to keep tasks in: name a file with --store")
    }

    /// Returns when the file was last written, or `None` where there is none.
    pub(super) fn written(&self) -> Option<SystemTime> {
        let path = self.path().ok()?;
        path.metadata().and_then(|file| file.modified()).ok()
    }

    /// Opens the store for writing, or makes one.
    pub(crate) fn open(&self) -> Result<Store> {
        let path = self.path()?;
        Store::open(&path, PATIENCE).with_context(|| path.display().to_string())
    }

    /// Reads the store, of which nothing is changed.
    pub(crate) fn read(&self) -> Result<StoreContents> {
        let path = self.path()?;
        Store::read(&path, PATIENCE).with_context(|| path.display().to_string())
    }
}

/// Returns where an ensemble is read from when it is looked at again: from any folder.
pub(crate) fn recorded(path: &Path, shape: Option<divisi::network::Shape>) -> RecordedSource {
    let whole = path.canonicalize();
    RecordedSource {
        path: whole.as_deref().unwrap_or(path).display().to_string(),
        shape,
    }
}

/// Returns why what was registered does not hold any more, or `None` where it does. The ensemble
/// is read again for it.
pub(crate) fn stale(model: &RegisteredModel) -> Option<StaleProfile> {
    model.record.read_again(read_again).err()
}

/// Reads an ensemble again from where it was registered.
pub(super) fn read_again(source: &RecordedSource) -> Result<Ensemble, StaleProfile> {
    read_files(source).map_err(|why| StaleProfile::Unreadable(format!("{why:#}")))
}

fn read_files(source: &RecordedSource) -> Result<Ensemble> {
    let found: Files = files(Path::new(&source.path))?;
    let found = match source.shape {
        Some(shape) => found
            .shaped(shape)
            .context("it is no .onnx file alone any more")?,
        None => found,
    };
    Ok(Ensemble::read(&found)?)
}
