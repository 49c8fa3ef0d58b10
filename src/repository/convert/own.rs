//! Copies Divisi manifests of a repository unchanged, with their files or with full paths to these.

use std::fs;
use std::path::{Component, Path, PathBuf};

use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::onnx::OnnxModel;
use divisi_runtime::reading::{self, ReadError};

use crate::folder::MOST_TEXT;
use crate::manifest_files::{NamedFile, named};

use super::NetworkFiles;
use super::written::{OutFolder, files as failed};

/// The maximum depth of copied folders within a model's folder.
const DEPTH: usize = 8;

/// A manifest of a repository.
pub(super) struct OwnManifest<'r> {
    /// The repository's folder, with links resolved.
    root: &'r Path,
    /// The name of the model.
    model: &'r str,
    /// The manifest.
    path: &'r Path,
}

impl<'r> OwnManifest<'r> {
    pub(super) fn new(root: &'r Path, model: &'r str, path: &'r Path) -> Self {
        OwnManifest { root, model, path }
    }

    /// Writes the manifest into its model's folder. Returns the reason if this fails.
    pub(super) fn write(
        &self,
        files: NetworkFiles,
        out: &mut OutFolder,
    ) -> Result<Result<(), String>, ReadError> {
        let text = reading::text_within(self.path, MOST_TEXT);
        let text = text.map_err(|error| failed(self.path, error))?;
        let manifest = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{}/{manifest}", self.model);
        match files {
            NetworkFiles::Named => out.write(&name, &self.with_paths(text))?,
            NetworkFiles::Copied => {
                self.copy(&self.folder(), self.model, DEPTH, out)?;
                for file in named(&text) {
                    self.copy_named(&file, out)?;
                }
            }
        }
        let read = Ensemble::read(&Files::from_path(&out.join(&name)));
        Ok(read.map(drop).map_err(|error| error.to_string()))
    }

    fn folder(&self) -> PathBuf {
        self.root.join(self.model)
    }

    /// Returns the manifest with full paths for the files that it names.
    fn with_paths(&self, mut text: String) -> String {
        let mut named = named(&text);
        // Replacing from the end keeps the earlier places valid.
        named.sort_by_key(|file| std::cmp::Reverse(file.place.start));
        for file in named {
            if let Ok(path) = self.folder().join(&file.file).canonicalize() {
                let path = toml::Value::String(path.display().to_string());
                text.replace_range(file.place, &path.to_string());
            }
        }
        text
    }

    /// Copies a file to the place that the manifest names. Skips files outside the output folder;
    /// reading the manifest again then reports them.
    fn copy_named(&self, file: &NamedFile, out: &mut OutFolder) -> Result<(), ReadError> {
        let path = self.folder().join(&file.file);
        let Some(to) = below(&Path::new(self.model).join(&file.file)) else {
            return Ok(());
        };
        if let Some((folder, _)) = to.rsplit_once('/')
            && path.extension().is_some_and(|end| end == "onnx")
        {
            for (name, from) in data_files(&path) {
                self.copy(&from, &format!("{folder}/{name}"), 1, out)?;
            }
        }
        self.copy(&path, &to, DEPTH, out)
    }

    /// Copies a file, or a folder with its contents. Skips files outside the repository and files
    /// that exist.
    fn copy(
        &self,
        from: &Path,
        to: &str,
        depth: usize,
        out: &mut OutFolder,
    ) -> Result<(), ReadError> {
        let real = from.canonicalize().unwrap_or_default();
        if !real.starts_with(self.root) || real == out.join("") {
            return Ok(());
        }
        if real.is_file() && !out.has(to) {
            return out.copy(from, to);
        }
        if !real.is_dir() || depth == 0 {
            return Ok(());
        }
        for name in names_in(from)? {
            self.copy(&from.join(&name), &format!("{to}/{name}"), depth - 1, out)?;
        }
        Ok(())
    }
}

/// Returns the files next to an ONNX file that hold its values, with their paths.
pub(super) fn data_files(path: &Path) -> Vec<(String, PathBuf)> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let Ok(model) = OnnxModel::open(path) else {
        return Vec::new();
    };
    let names = model.files_beside().into_iter();
    names
        .map(|name| (name.to_owned(), folder.join(name)))
        .collect()
}

/// Returns the names in a folder, in order.
fn names_in(folder: &Path) -> Result<Vec<String>, ReadError> {
    let names = fs::read_dir(folder).and_then(|entries| {
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect::<Result<Vec<_>, std::io::Error>>()
    });
    let mut names = names.map_err(|error| failed(folder, error))?;
    names.sort_unstable();
    Ok(names)
}

/// Returns a path without `.` and `..`, or `None` if the path leaves its starting folder.
fn below(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}
