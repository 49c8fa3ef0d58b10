//! The reasons why tasks cannot be served.

use divisi_model::allocation::SegmentTooLarge;
use divisi_model::catalogue::CatalogueError;
use divisi_modelless::variants::CatalogError;
use divisi_registry::records::StaleProfile;
use divisi_registry::store::StoreError;
use thiserror::Error;

/// The reasons why tasks cannot be served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServedTasksError {
    /// The store does not have the task.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The profiles of an ensemble are out of date.
    #[error("`{ensemble}` of task `{task}` is stale: {why}; register it again")]
    Stale {
        /// The task.
        task: String,
        /// The ensemble.
        ensemble: String,
        /// The reason.
        why: StaleProfile,
    },
    /// The variants do not form a catalogue.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// No variant of an ensemble was measured on any of the devices.
    #[error(
        "`{ensemble}` of task `{task}` was registered for {registered}, found {found}; register it \
         for these devices"
    )]
    Devices {
        /// The task.
        task: String,
        /// The ensemble.
        ensemble: String,
        /// The measured kinds of devices.
        registered: String,
        /// The available kinds of devices.
        found: String,
    },
    /// The entries cannot be served together.
    #[error(transparent)]
    Entries(#[from] CatalogueError),
    /// The pools of the entries do not fit into memory.
    #[error(transparent)]
    Pools(#[from] SegmentTooLarge),
    /// No matrix fits into memory.
    #[error(transparent)]
    Placement(#[from] divisi_engine::search::SearchError),
}

impl ServedTasksError {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        match self {
            ServedTasksError::Store(why) => why.code(),
            ServedTasksError::Stale { why, .. } => why.code(),
            ServedTasksError::Catalog(_) => "tasks_catalog",
            ServedTasksError::Devices { .. } => "tasks_devices",
            ServedTasksError::Entries(_) => "tasks_entries",
            ServedTasksError::Pools(_) => "tasks_pools",
            ServedTasksError::Placement(_) => "tasks_placement",
        }
    }
}
