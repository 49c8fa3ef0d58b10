//! The configuration folder, its files with the saved layouts, and a watch of them while the
//! console runs.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use divisi_model::replace::replace_file;
use divisi_model::user_folders;
use divisi_runtime::{reading, words};
use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, sleep_until};

use super::source::{ConfigError, ConfigSource};
use super::{Settings, folder, load};
use crate::layout::PanelLayout;

/// The file of options.
pub(crate) const CONFIG: &str = "config.toml";
/// The file of keys.
pub(crate) const KEYS: &str = "keys.toml";
/// The folder of layouts.
const LAYOUTS: &str = "layouts";
/// The folder of themes.
pub(crate) const THEMES: &str = "themes";

/// The configuration folder, which need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFolder {
    /// Its path.
    pub path: PathBuf,
}

impl ConfigFolder {
    /// Returns the requested folder, else `DIVISI_CONFIG_DIR`, else the user's own.
    pub fn choose(asked: Option<&Path>) -> Option<Self> {
        let named = std::env::var_os("DIVISI_CONFIG_DIR").filter(|d| !d.is_empty());
        let path = match (asked, named) {
            (Some(asked), _) => Some(asked.to_owned()),
            (None, Some(named)) => Some(PathBuf::from(named)),
            (None, None) => user_folders::config(),
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

/// Reads the layouts in the folder, by name, each with the first error in its file.
pub(crate) fn saved_layouts(
    folder: &ConfigFolder,
) -> impl Iterator<Item = Result<PanelLayout, ConfigError>> {
    let files = folder.layouts().into_iter();
    files.map(|(name, path)| {
        Ok(PanelLayout {
            name,
            ..saved_layout(&path)?
        })
    })
}

fn saved_layout(path: &Path) -> Result<PanelLayout, ConfigError> {
    let text = read(path)?.unwrap_or_default();
    let source = ConfigSource { path, text: &text };
    let wrong = |span: Option<std::ops::Range<usize>>, what: &str| {
        source.error(span.unwrap_or(0..0), "layout", what)
    };
    let layout: PanelLayout =
        toml::from_str(&text).map_err(|e| wrong(e.span(), &words::plain(e.message())))?;
    layout.check().map_err(|why| wrong(None, &why))?;
    Ok(layout)
}

/// Saves a layout, replacing one with the same name, and returns its file.
///
/// # Errors
/// There is no configuration folder, or the file cannot be written.
pub(crate) fn save_layout(layout: &PanelLayout) -> anyhow::Result<PathBuf> {
    let folder = folder().context("no configuration folder to save it in")?;
    let folder = folder.file(LAYOUTS);
    let path = folder.join(format!("{}.toml", layout.name));
    let text = toml::to_string(layout).map_err(anyhow::Error::from);
    let written = text.and_then(|text| {
        fs::create_dir_all(&folder)?;
        Ok(replace_file(&path, text.as_bytes())?)
    });
    match written {
        Ok(()) => Ok(path),
        Err(error) => bail!("cannot write {}: {error}", path.display()),
    }
}

/// The wait after the last change, since editors write a file in several steps.
const SETTLING: Duration = Duration::from_millis(200);

/// Watches the folder rather than its files, since editors save by renaming.
pub(crate) struct ConfigWatch {
    changes: Receiver<()>,
    /// The time of the next reading. It is stored, since waiting may be cancelled and resumed.
    due: Option<Instant>,
    /// Watches until it is dropped.
    _watcher: Option<RecommendedWatcher>,
}

impl ConfigWatch {
    /// Watches the configuration folder. Without a folder or a watch, no change is ever reported.
    pub(crate) fn begin() -> Self {
        // One place merges repeated changes into one report.
        let (told, changes) = channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|e| changes_something(&e.kind)) {
                let _ = told.try_send(());
            }
        });
        let watching = watcher.ok().and_then(|mut watcher| {
            let folder = folder()?.path;
            watcher.watch(&folder, RecursiveMode::Recursive).ok()?;
            Some(watcher)
        });
        ConfigWatch {
            changes,
            due: None,
            _watcher: watching,
        }
    }

    /// Waits for a change and returns the time at which it is complete.
    async fn next_change(&mut self) -> Instant {
        if self.changes.recv().await.is_none() {
            // There is no watch.
            std::future::pending::<()>().await;
        }
        *self.due.insert(Instant::now() + SETTLING)
    }

    /// Waits for a change and reads all files again.
    ///
    /// # Errors
    /// The first error in a file.
    pub(crate) async fn changed(&mut self) -> Result<Box<Settings>, ConfigError> {
        let due = match self.due {
            Some(due) => due,
            None => self.next_change().await,
        };
        sleep_until(due).await;
        self.due = None;
        while self.changes.try_recv().is_ok() {}
        load().map(Box::new)
    }
}

/// Returns whether an event changes a file. Reading does not; otherwise each reading would cause
/// another one.
fn changes_something(kind: &EventKind) -> bool {
    let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
    !kind.is_access() || *kind == closed
}
