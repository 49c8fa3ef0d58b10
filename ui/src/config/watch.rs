//! Changes of the files, told while the console runs.

use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, sleep_until};

use super::settings::{Settings, folder, load};

/// Editors write a file in several steps; after the last one this long is waited.
const SETTLING: Duration = Duration::from_millis(200);

/// Watches the folder, not its files: editors save by renaming.
pub struct ConfigWatch {
    changes: Receiver<()>,
    /// When all is read again: waiting may be given up and begun anew.
    due: Option<Instant>,
    /// Stops when it is dropped.
    _watcher: Option<RecommendedWatcher>,
}

impl ConfigWatch {
    /// Watches the folder of configuration; where there is none, or it cannot be
    /// watched, nothing is ever told.
    pub fn begin() -> Self {
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

    /// Waits for a change; gives when it will have settled.
    async fn told(&mut self) -> Instant {
        if self.changes.recv().await.is_none() {
            // Nobody watches.
            std::future::pending::<()>().await;
        }
        *self.due.insert(Instant::now() + SETTLING)
    }

    /// Waits for a change and reads all again: what is configured now, or what is wrong.
    pub async fn changed(&mut self) -> Result<Box<Settings>, String> {
        let due = match self.due {
            Some(due) => due,
            None => self.told().await,
        };
        sleep_until(due).await;
        self.due = None;
        while self.changes.try_recv().is_ok() {}
        load().map(Box::new).map_err(|wrong| wrong.brief())
    }
}

/// Reading a file is no change, or reading it again would tell of itself.
fn changes_something(kind: &EventKind) -> bool {
    let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
    !kind.is_access() || *kind == closed
}
