//! Replaces files as a whole.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The new contents of a file, on the disk beside the old ones. Dropped, they are removed.
#[derive(Debug)]
pub struct PreparedFile {
    path: PathBuf,
    contents: NamedTempFile,
}

impl PreparedFile {
    /// Writes `bytes` beside the file at `path`, which stays as it is.
    ///
    /// # Errors
    /// The disk is full, or the folder is missing or not writable.
    pub fn new(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        // As any new file: readable by those whom the user's mask allows.
        let mut contents = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder.unwrap_or(Path::new(".")))?;
        contents.write_all(bytes)?;
        contents.as_file().sync_all()?;
        Ok(PreparedFile {
            path: path.to_owned(),
            contents,
        })
    }

    /// Puts the contents in the file's place.
    ///
    /// # Errors
    /// The file cannot be replaced: a folder lies there, or may not be changed any more.
    pub fn put(self) -> io::Result<()> {
        let put = self.contents.persist(&self.path);
        put.map(drop).map_err(|failed| failed.error)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Writes `bytes` to the file at `path`. The old file stays until the new one is on the
/// disk, so that no reader finds half of it and a full disk costs nothing.
///
/// # Errors
/// The disk is full, or the folder is missing or not writable.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    PreparedFile::new(path, bytes)?.put()
}
