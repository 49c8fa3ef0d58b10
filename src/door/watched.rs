//! Files that are read again when they change, checked at most once a second.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// The time between two checks.
const LOOK: Duration = Duration::from_secs(1);

/// The modification time and size of a file; `None` if it is missing.
type FileStamp = Option<(SystemTime, u64)>;

/// Files that are watched for changes.
#[derive(Debug)]
pub(crate) struct WatchedFiles {
    paths: Vec<PathBuf>,
    seen: Vec<FileStamp>,
    looked: Instant,
}

/// A change of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileChange {
    /// All files exist, and one has changed.
    Changed,
    /// A file is missing.
    Gone,
}

impl WatchedFiles {
    /// Watches files for changes from now on.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        WatchedFiles {
            seen: stamps(&paths),
            paths,
            looked: Instant::now(),
        }
    }

    /// Returns the change since the last check, or `None` without a change or too soon after the
    /// last check.
    pub(crate) fn poll(&mut self) -> Option<FileChange> {
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
