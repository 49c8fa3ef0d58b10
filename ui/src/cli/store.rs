//! The store of registered tasks as an option.

use std::path::{Path, PathBuf};

use anyhow::Context;
use divisi_registry::store::StoreError;
use divisi_server::TaskStore;

/// The location of the store of registered tasks.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Tasks")]
pub(crate) struct StoreArgs {
    /// File of registered tasks (default: the user's)
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

impl StoreArgs {
    /// Returns the option for a store in a folder.
    pub(super) fn at(folder: &Path) -> Self {
        StoreArgs {
            store: Some(TaskStore::file_in(folder)),
        }
    }

    /// Returns the result of an operation on the store, with its name in an error.
    pub(crate) fn named<T>(&self, result: Result<T, StoreError>) -> anyhow::Result<T> {
        result.with_context(|| self.place().name())
    }

    /// Returns the store.
    pub(crate) fn place(&self) -> TaskStore {
        TaskStore::from_file(self.store.clone())
    }
}
