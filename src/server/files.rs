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
/// The folder of a repository's model is the file of its highest version.
///
/// # Errors
/// The path is something else: samples, a recording, a repository, or a folder without a manifest.
/// Also if a repository's model is not one network in an ONNX file.
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
    if let Some((repository, model)) = model_folder(path) {
        return Ok(Files::from_path(&repository.file_of(&model)?));
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

/// Returns the repository and the name of the model in a folder without a manifest.
fn model_folder(path: &Path) -> Option<(Repository, String)> {
    let is_folder = path.is_dir() && !has_manifest(path);
    is_folder.then(|| Repository::of_model(path)).flatten()
}

/// Returns the name of the repository's model at `path`, which is its folder or a file of one of its
/// versions, or `None` if the path is not a repository's model or has its own name.
pub fn repository_model(path: &Path) -> Option<String> {
    let of_version = || {
        let version = path.is_file().then(|| path.parent()).flatten()?;
        let name = version.file_name()?.to_str()?;
        name.parse::<u64>().ok()?;
        model_folder(version.parent()?)
    };
    let (_, name) = model_folder(path).or_else(of_version)?;
    Some(name)
}

/// Returns the folders of the models in a repository, or `None` if the path is not a repository.
///
/// # Errors
/// The folder cannot be read.
pub fn repository_models(path: &Path) -> Result<Option<Vec<PathBuf>>, ServeError> {
    if !Repository::is_at(path) {
        return Ok(None);
    }
    let names = Repository::open(path)?.names()?.into_iter();
    Ok(Some(names.map(|name| path.join(name)).collect()))
}

/// Returns a path that selects one model of a repository.
fn one_of(repository: &Path) -> PathBuf {
    let models = repository_models(repository).ok().flatten();
    let mut models = models.unwrap_or_default().into_iter();
    let found = models.find(|model| ensemble_files(model).is_ok());
    found.unwrap_or_else(|| repository.join("MODEL"))
}
