//! Watches the files of configuration while the console runs.

use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, sleep_until};

use super::settings::{Settings, folder, load};
use super::source::ConfigError;

/// Editors write a file in several steps: it is read this long after the last one.
const SETTLING: Duration = Duration::from_millis(200);

/// Watches the folder rather than its files, since editors save by renaming.
pub(crate) struct ConfigWatch {
    changes: Receiver<()>,
    /// When the files are read again. It is kept here, since waiting may be cancelled and resumed.
    due: Option<Instant>,
    /// Watches until it is dropped.
    _watcher: Option<RecommendedWatcher>,
}

impl ConfigWatch {
    /// Watches the folder of configuration. If there is none, or it cannot be watched, no change
    /// is ever reported.
    pub(crate) fn begin() -> Self {
        // One place: that something changed is said once, however often it did.
        let (told, changes) = channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|e| changes_something(&e.kind)) {
                let _ = told.try_send(());
            }
        });
        let watching = watcher.ok().and_then(|mut watcher| {
            let folder = folder()?.path;
            watcher.watch(&folder, RecursiveMode::Recursive).ok()?;
            Some(watcher)
        });
        ConfigWatch {
            changes,
            due: None,
            _watcher: watching,
        }
    }

    /// Waits for a change and returns when it will have settled.
    async fn told(&mut self) -> Instant {
        if self.changes.recv().await.is_none() {
            // Nobody watches.
            std::future::pending::<()>().await;
        }
        *self.due.insert(Instant::now() + SETTLING)
    }

    /// Waits for a change and reads all files again.
    ///
    /// # Errors
    /// The first error in a file.
    pub(crate) async fn changed(&mut self) -> Result<Box<Settings>, ConfigError> {
        let due = match self.due {
            Some(due) => due,
            None => self.told().await,
        };
        sleep_until(due).await;
        self.due = None;
        while self.changes.try_recv().is_ok() {}
        load().map(Box::new)
    }
}

/// Returns whether an event changes a file. Reading does not: else each reading would cause
/// the next.
fn changes_something(kind: &EventKind) -> bool {
    let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
    !kind.is_access() || *kind == closed
}
