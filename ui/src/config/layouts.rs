//! The user's layouts, a file each, as the console saves them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use divisi::words;
use thiserror::Error;

use super::folder::{ConfigFolder, LAYOUTS, read};
use super::settings::folder;
use super::source::{ConfigError, ConfigSource};
use crate::layout::PanelLayout;
use divisi::replace::replace_file;

/// Reads the layouts in the folder, by name.
///
/// # Errors
/// The first error in a layout, with its file.
pub(crate) fn all(folder: &ConfigFolder) -> Result<Vec<PanelLayout>, ConfigError> {
    let files = folder.layouts().into_iter();
    let layouts = files.map(|(name, path)| {
        Ok(PanelLayout {
            name,
            ..one(&path)?
        })
    });
    layouts.collect()
}

fn one(path: &Path) -> Result<PanelLayout, ConfigError> {
    let text = read(path)?.unwrap_or_default();
    let page = ConfigSource { path, text: &text };
    let wrong = |span: Option<std::ops::Range<usize>>, what: &str| {
        page.error(span.unwrap_or(0..0), "layout", what)
    };
    let layout: PanelLayout =
        toml::from_str(&text).map_err(|e| wrong(e.span(), &words::plain(e.message())))?;
    layout
        .check()
        .map_err(|why| wrong(None, &why.to_string()))?;
    Ok(layout)
}

/// Why a layout could not be saved.
#[derive(Debug, Error)]
pub(crate) enum SaveError {
    /// There is no folder of configuration.
    #[error("there is no folder of configuration to save it in")]
    NoFolder,
    /// The layout cannot be written as TOML.
    #[error("cannot write {}: {error}", .path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The layout's fault.
        error: toml::ser::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
}

/// Saves a layout, in place of one of the same name, and returns its file.
///
/// # Errors
/// There is no folder of configuration, or the file cannot be written.
pub(crate) fn save_layout(layout: &PanelLayout) -> Result<PathBuf, SaveError> {
    let folder = folder().ok_or(SaveError::NoFolder)?.file(LAYOUTS);
    let path = folder.join(format!("{}.toml", layout.name));
    let text = match toml::to_string(layout) {
        Ok(text) => text,
        Err(error) => return Err(SaveError::Text { path, error }),
    };
    let written = fs::create_dir_all(&folder).and_then(|()| replace_file(&path, text.as_bytes()));
    match written {
        Ok(()) => Ok(path),
        Err(error) => Err(SaveError::File { path, error }),
    }
}
