//! Finds the files of an ensemble by a path or the name of a built-in ensemble.

use std::path::{Path, PathBuf};

use divisi_model::ensemble::{Files, Samples};
use divisi_repository::Repository;
use divisi_session::record::RecordingReader;

use crate::ServeError;
use crate::samples::built_in;

/// The names of manifests. An ensemble's folder has one of them.
const MANIFESTS: [&str; 2] = ["ensemble.toml", "pipeline.toml"];

/// Returns the files at `path`, or of the built-in ensemble of that name if nothing exists there.
///
/// # Errors
/// The path is something else: samples, a recording, a repository, or a folder without a manifest.
pub fn ensemble_files(path: &Path) -> Result<Files, ServeError> {
    let name = path.to_str().unwrap_or_default();
    if let Some(files) = built_in(name).filter(|_| !path.exists()) {
        return Ok(files);
    }
    if Repository::is_at(path) {
        return Err(ServeError::ManyModels {
            path: name.to_owned(),
            one: one_of(path).display().to_string(),
        });
    }
    match other_kind(path, name) {
        Some(found) => Err(ServeError::NoEnsemble {
            path: name.to_owned(),
            found,
        }),
        None => Ok(Files::from_path(path)),
    }
}

/// Returns the kind of a path that is not an ensemble, and a command that accepts it.
fn other_kind(path: &Path, name: &str) -> Option<String> {
    if path.is_file() && Samples::check_name(name).is_ok() {
        return Some(format!(
            "a file of samples; `divisi predict ENSEMBLE --input {name}` answers them"
        ));
    }
    if path.is_file() && RecordingReader::is_one(path) {
        return Some(format!("a recording; `divisi replay {name}` plays it"));
    }
    let is_without = path.is_dir() && !has_manifest(path);
    is_without.then(|| format!("a folder without {}", MANIFESTS.join(" or ")))
}

/// Returns whether a folder has a manifest.
pub(crate) fn has_manifest(folder: &Path) -> bool {
    MANIFESTS.iter().any(|name| folder.join(name).exists())
}

/// Returns a path that selects one model of a repository.
fn one_of(repository: &Path) -> PathBuf {
    let opened = Repository::open(repository);
    let names = opened.and_then(|repository| repository.names());
    let folders = names.unwrap_or_default().into_iter();
    let files = folders.map(|name| repository.join(name).join("1").join("model.onnx"));
    let mut files = files.filter(|file| file.is_file());
    files.next().unwrap_or_else(|| "MODEL/1/model.onnx".into())
}
