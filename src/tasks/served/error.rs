//! Why tasks cannot be served.

use divisi_model::allocation::SegmentTooLarge;
use divisi_model::catalogue::CatalogueError;
use divisi_modelless::variants::CatalogError;
use divisi_registry::records::StaleProfile;
use divisi_registry::store::StoreError;
use thiserror::Error;

/// Why tasks cannot be served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServedTasksError {
    /// The store does not have a task.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The profiles of a task do not hold any more.
    #[error("`{ensemble}` of task `{task}` is stale: {why}; register it again")]
    Stale {
        /// The task.
        task: String,
        /// The ensemble.
        ensemble: String,
        /// The reason.
        why: StaleProfile,
    },
    /// The variants are no catalogue.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// No variant is for a device that there is.
    #[error(
        "task `{task}` was registered for {registered}, and is served on {found}: register it for these devices"
    )]
    Devices {
        /// The task.
        task: String,
        /// The kinds of devices that were measured.
        registered: String,
        /// The kinds of devices that there are.
        found: String,
    },
    /// The entries cannot be served together.
    #[error(transparent)]
    Entries(#[from] CatalogueError),
    /// The pools of the entries do not fit.
    #[error(transparent)]
    Pools(#[from] SegmentTooLarge),
    /// No matrix fits the memory.
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
