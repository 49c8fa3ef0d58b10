//! An ensemble's files, from a folder or from the program itself, and the errors in them.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::reading;
use crate::words;

/// The files of one ensemble.
#[derive(Clone, Debug)]
pub enum Files {
    /// Files in a folder.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The name of the manifest in it.
        manifest: String,
    },
    /// Files compiled into the program.
    Embedded {
        /// The ensemble's name.
        name: &'static str,
        /// Each file's name and bytes.
        files: &'static [(&'static str, &'static [u8])],
    },
}

/// The usual name of a manifest in a folder.
pub(crate) const MANIFEST: &str = "ensemble.toml";

impl Files {
    /// Returns the files of an ensemble from the path of its folder or its manifest.
    pub fn at(path: &Path) -> Self {
        if path.is_dir() {
            return Files::Folder {
                folder: path.to_owned(),
                manifest: MANIFEST.to_owned(),
            };
        }
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        Files::Folder {
            folder: path.parent().unwrap_or(Path::new("")).to_owned(),
            manifest: name.unwrap_or_else(|| MANIFEST.to_owned()),
        }
    }

    /// Returns the manifest's name among the files.
    pub fn manifest(&self) -> &str {
        match self {
            Files::Folder { manifest, .. } => manifest,
            Files::Embedded { .. } => MANIFEST,
        }
    }

    /// Returns the name of a file as messages show it.
    pub fn display(&self, name: &str) -> String {
        match self {
            Files::Folder { folder, .. } => folder.join(name).display().to_string(),
            Files::Embedded { name: ensemble, .. } => format!("{ensemble} (built in)/{name}"),
        }
    }

    /// Returns the path of a file, or `None` if it is compiled into the program.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        match self {
            Files::Folder { folder, .. } => Some(folder.join(name)),
            Files::Embedded { .. } => None,
        }
    }

    /// Reads one file.
    ///
    /// # Errors
    /// The file is not there, cannot be read, or is a pipe, a device or a folder.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, EnsembleError> {
        match self.path(name) {
            Some(path) => reading::bytes(&path).map_err(|e| self.wrong(name, e.to_string())),
            None => self.embedded(name).map(<[u8]>::to_vec),
        }
    }

    /// Reads one file as text.
    ///
    /// # Errors
    /// As [`Files::read`], or the file is not UTF-8, or too long for a text.
    pub fn read_text(&self, name: &str) -> Result<String, EnsembleError> {
        match self.path(name) {
            Some(path) => reading::text(&path).map_err(|e| self.wrong(name, e.to_string())),
            None => match str::from_utf8(self.embedded(name)?) {
                Ok(text) => Ok(text.to_owned()),
                Err(_) => Err(self.wrong(name, "expected UTF-8 text".into())),
            },
        }
    }

    fn embedded(&self, name: &str) -> Result<&'static [u8], EnsembleError> {
        let files = match self {
            Files::Folder { .. } => &[],
            Files::Embedded { files, .. } => *files,
        };
        let found = files.iter().find(|(n, _)| *n == name);
        let found = found.map(|(_, bytes)| *bytes);
        found.ok_or_else(|| self.wrong(name, "no such file".into()))
    }

    fn wrong(&self, name: &str, reason: String) -> EnsembleError {
        EnsembleError::File {
            file: self.display(name),
            reason,
        }
    }
}

/// An error in an ensemble's files.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EnsembleError {
    /// An error of a whole file.
    #[error("{file}: {reason}")]
    File {
        /// The file's name.
        file: String,
        /// The reason, as it is shown.
        reason: String,
    },
    /// An error at a place in a file.
    #[error("{file}:{line}: {message}")]
    Place {
        /// The file's name.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The field, and the value that was expected.
        message: String,
    },
}

/// Returns the line (from 1) of a byte offset.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    1 + text.as_bytes()[..end]
        .iter()
        .filter(|&&b| b == b'\n')
        .count()
}

impl EnsembleError {
    /// Converts an error of TOML's parser.
    pub(super) fn toml(file: String, text: &str, error: &toml::de::Error) -> Self {
        let line = line_of(text, error.span().map_or(0, |s| s.start));
        let message = words::plain(error.message());
        let message = match field_in(text, line) {
            Some(field) if !message.contains(&format!("`{field}`")) => {
                format!("{field}: {message}")
            }
            _ => message,
        };
        EnsembleError::Place {
            file,
            line,
            message,
        }
    }
}

/// Returns the field that a line of TOML sets, if it sets one.
fn field_in(text: &str, line: usize) -> Option<&str> {
    let (key, _) = text.lines().nth(line.checked_sub(1)?)?.split_once('=')?;
    let key = key.trim();
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.';
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}
