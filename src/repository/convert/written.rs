//! The output folder of a conversion.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use divisi_runtime::reading::ReadError;

use super::Converted;

/// An output folder that was empty at first, and the files written to it.
pub(super) struct OutFolder {
    path: PathBuf,
    pub(super) converted: Converted,
}

impl OutFolder {
    /// Creates the folder, or takes an empty one.
    pub(super) fn new(path: &Path) -> Result<Self, ReadError> {
        let failed = |error| files(path, error);
        fs::create_dir_all(path).map_err(failed)?;
        // Manifests use paths relative to the folder, so its links are resolved.
        let path = path.canonicalize().map_err(failed)?;
        if fs::read_dir(&path).map_err(failed)?.next().is_some() {
            let wrong = ReadError::new("expected a new or empty folder");
            return Err(wrong.at(path.display()));
        }
        Ok(OutFolder {
            path,
            converted: Converted::default(),
        })
    }

    /// Returns the path of a file in it.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns whether a file of this name was written.
    pub(super) fn has(&self, name: &str) -> bool {
        self.join(name).exists()
    }

    /// Makes a folder in it.
    pub(super) fn folder(&self, name: &str) -> Result<(), ReadError> {
        let path = self.join(name);
        fs::create_dir_all(&path).map_err(|error| files(&path, error))
    }

    /// Writes a file.
    pub(super) fn write(&mut self, name: &str, text: &str) -> Result<(), ReadError> {
        let path = self.parent(name)?;
        fs::write(&path, text).map_err(|error| files(&path, error))?;
        self.converted.written.push(name.to_owned());
        Ok(())
    }

    /// Copies a file.
    pub(super) fn copy(&mut self, from: &Path, name: &str) -> Result<(), ReadError> {
        let path = self.parent(name)?;
        fs::copy(from, &path).map_err(|error| files(from, error))?;
        self.converted.written.push(name.to_owned());
        Ok(())
    }

    /// Returns whether a written manifest names a file in a folder.
    pub(super) fn names_in(&self, folder: &str) -> bool {
        let named = format!("../{folder}/");
        let written = self.converted.written.iter();
        let manifests = written.filter(|name| name.ends_with(".toml"));
        let mut texts = manifests.filter_map(|name| fs::read_to_string(self.join(name)).ok());
        texts.any(|text| text.contains(&named))
    }

    /// Removes a folder with its written files.
    pub(super) fn remove_folder(&mut self, name: &str) -> Result<(), ReadError> {
        let path = self.join(name);
        fs::remove_dir_all(&path).map_err(|error| files(&path, error))?;
        let within = |written: &str| {
            let rest = written.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        self.converted.written.retain(|written| !within(written));
        Ok(())
    }

    /// Notes a setting of a model that the other form does not support.
    pub(super) fn unsaid(&mut self, model: &str, what: impl AsRef<str>) {
        let line = format!("{model}: {}", what.as_ref());
        self.converted.unsaid.push(line);
    }

    /// Notes that a model is left out.
    pub(super) fn left_out(&mut self, model: &str, why: impl AsRef<str>) {
        let line = format!("{model}: {}", why.as_ref());
        self.converted.left_out.push(line);
    }

    /// Returns the path of a file, and creates its folder.
    fn parent(&self, name: &str) -> Result<PathBuf, ReadError> {
        let path = self.join(name);
        let folder = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(folder).map_err(|error| files(folder, error))?;
        Ok(path)
    }
}

/// Returns the error of a file.
pub(super) fn files(path: &Path, error: io::Error) -> ReadError {
    ReadError::new(error).at(path.display())
}
