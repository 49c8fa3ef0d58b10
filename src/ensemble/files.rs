//! Where an ensemble's files come from: a folder, or the program itself.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::EnsembleError;

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
    /// It is not there or cannot be read.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, EnsembleError> {
        let fail = |reason: String| EnsembleError::File {
            file: self.display(name),
            reason,
        };
        match self {
            Files::Folder { folder, .. } => {
                fs::read(folder.join(name)).map_err(|e| fail(e.to_string()))
            }
            Files::Embedded { files, .. } => files
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, bytes)| bytes.to_vec())
                .ok_or_else(|| fail("no such file".into())),
        }
    }

    /// Reads one file as text.
    ///
    /// # Errors
    /// As [`Files::read`], or it is not UTF-8.
    pub fn read_text(&self, name: &str) -> Result<String, EnsembleError> {
        String::from_utf8(self.read(name)?).map_err(|_| EnsembleError::File {
            file: self.display(name),
            reason: "expected UTF-8 text".into(),
        })
    }
}
