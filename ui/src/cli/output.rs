//! Files that commands write.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A place to write to, looked at before the work that fills it.
pub struct OutputFile {
    path: PathBuf,
    /// A file to be replaced whole; a device or pipe is written to as it is.
    replaced: bool,
}

impl OutputFile {
    /// Checks that `path` can be written to, as far as can be told.
    pub fn at(path: &Path) -> Result<Self> {
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

    /// Whether it is, or will be, an ordinary file.
    pub fn is_file(&self) -> bool {
        self.replaced
    }

    /// Writes all of `text`: a file beside and renamed, so that nobody finds half.
    pub fn write(&self, text: &str) -> Result<()> {
        self.write_bytes(text.as_bytes())
    }

    /// The same of bytes.
    pub fn write_bytes(&self, bytes: &[u8]) -> Result<()> {
        let written = if self.replaced {
            self.replace(bytes)
        } else {
            let file = OpenOptions::new().write(true).open(&self.path);
            file.and_then(|mut f| f.write_all(bytes))
        };
        written.with_context(|| format!("writing {}", self.path.display()))
    }

    fn replace(&self, bytes: &[u8]) -> std::io::Result<()> {
        let part = self
            .path
            .with_extension(format!("part{}", std::process::id()));
        let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, &self.path));
        if written.is_err() {
            // Whatever is left of it is of no use to anybody.
            let _ = fs::remove_file(&part);
        }
        written
    }
}
