//! Files that commands write.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use divisi::replace::replace_file;

/// A file to write, checked before the work that makes its contents.
pub(crate) struct OutputFile {
    path: PathBuf,
    /// The file is replaced as a whole. A device or a pipe is written to in place.
    replaced: bool,
}

impl OutputFile {
    /// Checks that `path` can be written, as far as that can be known.
    pub(crate) fn at(path: &Path) -> Result<Self> {
        let Ok(found) = fs::metadata(path) else {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
            if !folder.is_none_or(Path::is_dir) {
                bail!("{}: its folder does not exist", path.display());
            }
            return Ok(OutputFile {
                path: path.to_owned(),
                replaced: true,
            });
        };
        if found.is_dir() {
            bail!("{}: expected a file, found a folder", path.display());
        }
        Ok(OutputFile {
            // What a link points to is written, not the link.
            path: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            replaced: found.is_file(),
        })
    }

    /// Returns whether this is, or will be, an ordinary file.
    pub(crate) fn is_file(&self) -> bool {
        self.replaced
    }

    /// Writes `text`: to a file beside the final one, which is then renamed, so that no reader
    /// finds half of it.
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        self.write_bytes(text.as_bytes())
    }

    /// Writes `bytes`, as [`OutputFile::write`] does.
    pub(crate) fn write_bytes(&self, bytes: &[u8]) -> Result<()> {
        let written = if self.replaced {
            replace_file(&self.path, bytes)
        } else {
            let file = OpenOptions::new().write(true).open(&self.path);
            file.and_then(|mut f| f.write_all(bytes))
        };
        written.with_context(|| format!("writing {}", self.path.display()))
    }
}
