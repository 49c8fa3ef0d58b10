//! Replaces files atomically.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The new contents of a file, stored on the disk next to the old file. Dropping it removes them.
#[derive(Debug)]
pub struct PreparedFile {
    path: PathBuf,
    contents: NamedTempFile,
}

impl PreparedFile {
    /// Writes `bytes` next to the file at `path`, which stays unchanged.
    ///
    /// # Errors
    /// The disk is full, or the folder is missing or not writable.
    pub fn new(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        // As for any new file, the user's umask decides who can read it.
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

    /// Replaces the file with the contents.
    ///
    /// # Errors
    /// The file cannot be replaced: there is a folder at its path, or it is not writable.
    pub fn commit(self) -> io::Result<()> {
        let put = self.contents.persist(&self.path);
        put.map(drop).map_err(|failed| failed.error)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Writes `bytes` to the file at `path`. The old file stays until the new file is on the disk, so
/// that readers never find an incomplete file and a full disk loses nothing.
///
/// # Errors
/// The disk is full, or the folder is missing or not writable.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    PreparedFile::new(path, bytes)?.commit()
}
