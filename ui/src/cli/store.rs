//! The store of registered tasks as an option.

use std::path::{Path, PathBuf};

use divisi_server::TaskStore;

/// The place of the store of registered tasks.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// The file of registered tasks, instead of the user's own
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

impl StoreArgs {
    /// Returns the option of a store in a folder.
    pub(super) fn at(folder: &Path) -> Self {
        StoreArgs {
            store: Some(TaskStore::file_in(folder)),
        }
    }

    /// Returns the store.
    pub(crate) fn place(&self) -> TaskStore {
        TaskStore::from_file(self.store.clone())
    }
}
