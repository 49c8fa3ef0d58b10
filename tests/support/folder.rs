//! Folders of a test's own.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder for one test alone; removed when dropped.
pub struct Folder(TempDir);

impl Folder {
    /// An empty one.
    pub fn new() -> Self {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file; its path.
    pub fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.join(name);
        fs::write(&path, bytes).expect("writes");
        path.to_string_lossy().into_owned()
    }
}
