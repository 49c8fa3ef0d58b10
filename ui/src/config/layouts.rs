//! Layouts of the user's own, a file each: what the console saves.

use std::fs;
use std::path::{Path, PathBuf};

use divisi::words;

use super::folder::{ConfigFolder, LAYOUTS, read};
use super::settings::folder;
use super::source::{ConfigError, ConfigSource};
use crate::console::PanelLayout;

/// Those in the folder, by name.
///
/// # Errors
/// What is wrong with one, with its file.
pub fn all(folder: &ConfigFolder) -> Result<Vec<PanelLayout>, ConfigError> {
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
        page.wrong(span.unwrap_or(0..0), "layout", what)
    };
    let layout: PanelLayout =
        toml::from_str(&text).map_err(|e| wrong(e.span(), &words::plain(e.message())))?;
    layout
        .check()
        .map_err(|why| wrong(None, &why.to_string()))?;
    Ok(layout)
}

/// Keeps a layout, in place of one of the same name; gives where it is.
///
/// # Errors
/// There is no folder of configuration, or the file cannot be written.
pub fn save_layout(layout: &PanelLayout) -> Result<PathBuf, String> {
    let folder = folder().ok_or("there is no folder of configuration to save it in")?;
    let path = folder.file(LAYOUTS).join(format!("{}.toml", layout.name));
    let wrong = |e: &dyn std::fmt::Display| format!("cannot write {}: {e}", path.display());
    let text = toml::to_string(layout).map_err(|e| wrong(&e))?;
    fs::create_dir_all(folder.file(LAYOUTS)).map_err(|e| wrong(&e))?;
    crate::console::files::write(&path, text.as_bytes(), true)
}
