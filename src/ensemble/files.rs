//! An ensemble's files, from a folder or from the program itself, and the errors in them.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::reading;
use crate::words;

/// The files of one ensemble.
#[derive(Clone, Debug)]
pub enum Files {
    /// A folder with a manifest named `ensemble.toml`, or another manifest in it.
    Folder { folder: PathBuf, manifest: String },
    /// Files compiled into the program.
    Embedded {
        name: &'static str,
        files: &'static [(&'static str, &'static [u8])],
    },
}

/// The manifest's name in a folder.
pub const MANIFEST: &str = "ensemble.toml";

impl Files {
    /// An ensemble's folder, or its manifest's path.
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

    /// The manifest's name among the files.
    pub fn manifest(&self) -> &str {
        match self {
            Files::Folder { manifest, .. } => manifest,
            Files::Embedded { .. } => MANIFEST,
        }
    }

    /// The file as a person would name it.
    pub fn display(&self, name: &str) -> String {
        match self {
            Files::Folder { folder, .. } => folder.join(name).display().to_string(),
            Files::Embedded { name: ensemble, .. } => format!("{ensemble} (built in)/{name}"),
        }
    }

    /// Where a file is, unless the program has it in itself.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        match self {
            Files::Folder { folder, .. } => Some(folder.join(name)),
            Files::Embedded { .. } => None,
        }
    }

    /// Reads one file.
    ///
    /// # Errors
    /// It is not there, cannot be read, or is a pipe, a device or a folder.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, EnsembleError> {
        match self.path(name) {
            Some(path) => reading::bytes(&path).map_err(|e| self.wrong(name, e.to_string())),
            None => self.embedded(name).map(<[u8]>::to_vec),
        }
    }

    /// Reads one file as text.
    ///
    /// # Errors
    /// As [`Files::read`], or it is not UTF-8, or too long for a text.
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

/// Names the file, the place in it, the field and what was expected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EnsembleError {
    #[error("{file}: {reason}")]
    File { file: String, reason: String },
    #[error("{file}:{line}: {message}")]
    Place {
        file: String,
        line: usize,
        message: String,
    },
}

/// The line (from 1) of a byte offset.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    1 + text.as_bytes()[..end]
        .iter()
        .filter(|&&b| b == b'\n')
        .count()
}

impl EnsembleError {
    /// A TOML error with its line.
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

/// The field that a line of TOML sets, as far as it does.
fn field_in(text: &str, line: usize) -> Option<&str> {
    let (key, _) = text.lines().nth(line.checked_sub(1)?)?.split_once('=')?;
    let key = key.trim();
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.';
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}
