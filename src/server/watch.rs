//! Reads the store of tasks again after it was written.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use divisi_model::ensemble::Ensemble;
use divisi_registry::records::{RecordedSource, StaleProfile};
use divisi_registry::store::{StoreContents, StoreError};
use divisi_runtime::lock::Leaf;
use divisi_tasks::scaling::TaskRegistrations;

use crate::{ServeError, TaskStore};

/// The age after which a further write of a file is certain to change its time. File times are
/// coarse, up to a second on some systems.
const SETTLED: Duration = Duration::from_secs(2);

/// The wait for a store that another program writes, before the next second tries again.
const SOON: Duration = Duration::from_millis(100);

/// The contents of a store, read again only after the file was written.
pub(crate) struct StoreWatch {
    store: TaskStore,
    /// The contents as last read, if the file was settled at that time.
    read: Leaf<Option<(SystemTime, Arc<StoreContents>)>>,
}

impl StoreWatch {
    pub(crate) fn new(store: &TaskStore) -> Self {
        StoreWatch {
            store: store.clone(),
            read: Leaf::default(),
        }
    }

    pub(crate) fn store(&self) -> &TaskStore {
        &self.store
    }

    /// Returns the time of the last write, if a further write would change it.
    fn settled(&self) -> Option<SystemTime> {
        let is_settled = |at: &SystemTime| at.elapsed().is_ok_and(|age| age >= SETTLED);
        self.store.written().filter(is_settled)
    }

    /// Returns the contents of the store. Waits for at most `patience` while another program writes
    /// it.
    ///
    /// # Errors
    /// It cannot be read; the error names the file.
    pub(crate) fn contents(&self, patience: Duration) -> Result<Arc<StoreContents>, ServeError> {
        // The time of a write after this is another one.
        let settled = self.settled();
        if let (Some((known, contents)), Some(settled)) = (&*self.read.lock(), settled)
            && *known == settled
        {
            return Ok(Arc::clone(contents));
        }
        let contents = Arc::new(self.store.read_within(patience)?);
        *self.read.lock() = settled.map(|settled| (settled, Arc::clone(&contents)));
        Ok(contents)
    }
}

/// The registrations of a store, for the server that serves them.
pub(crate) struct StoredRegistrations {
    watch: Arc<StoreWatch>,
    /// The time of the last write at the last reading, if the file was settled at that time.
    seen: Leaf<Option<SystemTime>>,
}

impl StoredRegistrations {
    pub(crate) fn watching(watch: &Arc<StoreWatch>) -> Self {
        StoredRegistrations {
            watch: Arc::clone(watch),
            seen: Leaf::default(),
        }
    }
}

impl TaskRegistrations for StoredRegistrations {
    fn is_written(&self) -> bool {
        let seen = *self.seen.lock();
        // Without a file there are no registrations to follow.
        let written = self.watch.store.written();
        written.is_some_and(|written| seen != Some(written))
    }

    fn contents(&self) -> Result<Option<Arc<StoreContents>>, String> {
        let settled = self.watch.settled();
        match self.watch.contents(SOON) {
            Ok(contents) => {
                *self.seen.lock() = settled;
                Ok(Some(contents))
            }
            Err(ServeError::Store { why, .. }) if matches!(*why, StoreError::InUse) => Ok(None),
            Err(why) => Err(why.to_string()),
        }
    }

    fn read_again(&self, source: &RecordedSource) -> Result<Ensemble, StaleProfile> {
        TaskStore::read_again(source)
    }
}
