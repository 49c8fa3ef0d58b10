//! The folder of configuration, and the files in it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use directories::ProjectDirs;
use divisi::reading;

use super::source::ConfigError;

/// The file of options.
pub(crate) const CONFIG: &str = "config.toml";
/// The file of keys.
pub(crate) const KEYS: &str = "keys.toml";
/// The folder of layouts.
pub(crate) const LAYOUTS: &str = "layouts";
/// The folder of themes.
pub(crate) const THEMES: &str = "themes";

/// The folder of configuration, which need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFolder {
    /// Its path.
    pub path: PathBuf,
}

impl ConfigFolder {
    /// Returns the folder asked for, else `DIVISI_CONFIG_DIR`, else the user's own.
    pub fn choose(asked: Option<&Path>) -> Option<Self> {
        let named = std::env::var_os("DIVISI_CONFIG_DIR").filter(|d| !d.is_empty());
        let path = match (asked, named) {
            (Some(asked), _) => Some(asked.to_owned()),
            (None, Some(named)) => Some(PathBuf::from(named)),
            (None, None) => {
                ProjectDirs::from("", "", "divisi").map(|dirs| dirs.config_dir().to_owned())
            }
        };
        path.map(|path| ConfigFolder { path })
    }

    /// Returns the path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads a file, or returns `None` if it does not exist.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    pub fn text(&self, name: &str) -> Result<Option<String>, ConfigError> {
        read(&self.file(name))
    }

    /// Returns the files of themes, by name.
    pub fn themes(&self) -> Vec<(String, PathBuf)> {
        self.files(THEMES)
    }

    /// Returns the files of layouts, by name.
    pub fn layouts(&self) -> Vec<(String, PathBuf)> {
        self.files(LAYOUTS)
    }

    fn files(&self, folder: &str) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(self.file(folder)).into_iter().flatten();
        let paths = entries.flatten().map(|e| e.path());
        let mut found: Vec<(String, PathBuf)> = paths.filter_map(named).collect();
        found.sort();
        found
    }
}

fn named(path: PathBuf) -> Option<(String, PathBuf)> {
    let name = path.file_stem()?.to_str()?.to_owned();
    let right = path.extension()? == "toml" && !name.starts_with('.');
    right.then_some((name, path))
}

/// Reads a file, or returns `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    match reading::text(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(ConfigError::unreadable(path, &e)),
    }
}
