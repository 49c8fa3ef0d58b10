//! Models that a load request overrides, in place of their folders.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use divisi_engine::deployment::ModelOverride;
use tempfile::TempDir;

use crate::folder::Root;

/// The maximum number of files in a load request.
const MOST_FILES: usize = 64;

/// A model that replaces the model of its folder.
#[derive(Debug)]
pub(crate) struct OverriddenModel {
    /// Its configuration, as JSON.
    pub(crate) config: Option<String>,
    /// Its files, if the request contains files.
    pub(crate) files: Option<BroughtFiles>,
}

/// Files from a load request, in a temporary folder that is deleted with this value.
#[derive(Debug)]
pub(crate) struct BroughtFiles {
    pub(crate) root: Root,
    _folder: TempDir,
}

/// Overridden models, by name.
pub(crate) type Overrides = BTreeMap<String, Arc<OverriddenModel>>;

impl OverriddenModel {
    /// Writes the files of the model `name` to a folder of their own.
    ///
    /// # Errors
    /// A path leads out of the folder, or a file cannot be written. The error is a text.
    pub(crate) fn new(name: &str, by: &ModelOverride) -> Result<Self, String> {
        if !by.files.is_empty() && by.config.is_none() {
            return Err("files require the parameter `config`".into());
        }
        let files = match by.files.is_empty() {
            true => None,
            false => Some(brought(name, &by.files)?),
        };
        Ok(OverriddenModel {
            config: by.config.clone(),
            files,
        })
    }
}

fn brought(name: &str, files: &[(String, Vec<u8>)]) -> Result<BroughtFiles, String> {
    if files.len() > MOST_FILES {
        return Err(format!("expected at most {MOST_FILES} files"));
    }
    if !is_plain(name, 1) {
        return Err(format!(
            "`{}` is not a valid folder name",
            name.escape_debug()
        ));
    }
    let failed = |error: io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(failed)?;
    for (file, bytes) in files {
        if !is_plain(file, 4) {
            let file = file.escape_debug();
            return Err(format!(
                "file `{file}`: expected a path such as 1/model.onnx"
            ));
        }
        let path = folder.path().join(name).join(file);
        let parent = path.parent().unwrap_or(folder.path());
        fs::create_dir_all(parent).map_err(failed)?;
        fs::write(&path, bytes).map_err(|error| format!("file `{file}`: {error}"))?;
    }
    let root = Root::open(folder.path()).map_err(|error| error.to_string())?;
    Ok(BroughtFiles {
        root,
        _folder: folder,
    })
}

/// Returns whether a path has at most `most` names.
fn is_plain(path: &str, most: usize) -> bool {
    let names = Path::new(path).components();
    let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
    let count = names.clone().count();
    (1..=most).contains(&count) && names.clone().all(normal) && !path.contains(['\0', '\\'])
}
