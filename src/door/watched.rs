//! Files that are read again when they change, looked at no more than once a second.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// Between looks whether a file has changed.
const LOOK: Duration = Duration::from_secs(1);

/// A file as it was seen: when it changed, and its bytes; `None` where it is not there.
type FileStamp = Option<(SystemTime, u64)>;

/// Files whose changes are looked for.
#[derive(Debug)]
pub(crate) struct WatchedFiles {
    paths: Vec<PathBuf>,
    seen: Vec<FileStamp>,
    looked: Instant,
}

/// A change of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileChange {
    /// They are there, and one is another than before.
    Changed,
    /// One is not there any more.
    Gone,
}

impl WatchedFiles {
    /// Files as they are now.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        WatchedFiles {
            seen: stamps(&paths),
            paths,
            looked: Instant::now(),
        }
    }

    /// Returns the change since the last look, or `None` if there is none or it is too early to
    /// look.
    pub(crate) fn look(&mut self) -> Option<FileChange> {
        if self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        let now = stamps(&self.paths);
        if now == self.seen {
            return None;
        }
        self.seen = now;
        match self.seen.iter().all(Option::is_some) {
            true => Some(FileChange::Changed),
            false => Some(FileChange::Gone),
        }
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<FileStamp> {
    let stamp = |path: &PathBuf| {
        let data = fs::metadata(path).ok()?;
        Some((data.modified().ok()?, data.len()))
    };
    paths.iter().map(stamp).collect()
}
