//! Files and folders of the user: listed, read, written, and chosen in the desktop's dialog where
//! there is one.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use divisi_model::user_folders;
use divisi_runtime::reading;
use thiserror::Error;

use divisi_model::replace::replace_file;

/// Why a file was not read, written or chosen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileError {
    /// It, or its folder, cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// The system's error message.
        why: String,
    },
    /// It cannot be written.
    #[error("cannot write {}: {why}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// The system's error message.
        why: String,
    },
    /// Too many files have names like it.
    #[error("cannot write {}: too many like it", .0.display())]
    TooMany(PathBuf),
    /// The path names no file.
    #[error("expected a file, found {}", .0.display())]
    NoFile(PathBuf),
    /// The desktop's dialog failed; holds what it said.
    #[error("the desktop's dialog failed: {0}; choose here instead")]
    Dialog(String),
    /// Whoever wrote it said why it was not.
    #[error("{0}")]
    Other(String),
}

impl FileError {
    fn reading(path: &Path, why: &io::Error) -> Self {
        FileError::Read {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }

    fn writing(path: &Path, why: &io::Error) -> Self {
        FileError::Write {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }
}

/// Names tried before giving up.
const MOST: usize = 10_000;
/// Files of a folder that are listed; who has more types the name.
const MOST_LISTED: usize = 5_000;

/// A folder's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderListing {
    /// Its whole path.
    pub path: PathBuf,
    /// Folders first, then by name; hidden ones too.
    pub items: Vec<FolderItem>,
    /// Files that are not listed since there are too many.
    pub left_out: usize,
    /// The file in it that was asked about, where it was no folder, and whether it is
    /// there.
    pub about: Option<(String, bool)>,
    /// The desktop has a dialog of its own.
    pub desktop: bool,
}

/// One file of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderItem {
    /// Its name.
    pub name: String,
    /// It is a folder.
    pub folder: bool,
    /// Its size; none where that cannot be told.
    pub bytes: Option<u64>,
}

/// Lists the folder at `path`; `~` is the home folder. If `path` is a file or does not exist,
/// lists the folder that it is in.
///
/// # Errors
/// Neither it nor its folder can be read: the path and why.
pub fn look(path: &Path) -> Result<FolderListing, FileError> {
    let path = at_home(path);
    let whole = std::path::absolute(&path).unwrap_or(path);
    if whole.is_dir() {
        return list(&whole, None);
    }
    let (Some(folder), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(FileError::NoFile(whole));
    };
    let about = (name.to_string_lossy().into_owned(), whole.exists());
    list(folder, Some(about))
}

fn at_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), user_folders::home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

fn list(path: &Path, about: Option<(String, bool)>) -> Result<FolderListing, FileError> {
    let wrong = |e: io::Error| FileError::reading(path, &e);
    // `a/../b` and links, as a person would name it.
    let whole = path.canonicalize().map_err(wrong)?;
    let mut all = fs::read_dir(&whole).map_err(wrong)?;
    let mut items: Vec<FolderItem> = all.by_ref().flatten().take(MOST_LISTED).map(item).collect();
    items.sort_by(|a, b| (!a.folder, &a.name).cmp(&(!b.folder, &b.name)));
    Ok(FolderListing {
        path: whole,
        items,
        left_out: all.count(),
        about,
        desktop: has_dialog(),
    })
}

fn item(entry: fs::DirEntry) -> FolderItem {
    // Through a link: who opens it opens what it leads to.
    let facts = fs::metadata(entry.path()).ok();
    FolderItem {
        name: entry.file_name().to_string_lossy().into_owned(),
        folder: facts.as_ref().is_some_and(fs::Metadata::is_dir),
        bytes: facts.filter(fs::Metadata::is_file).map(|f| f.len()),
    }
}

/// A file's text.
///
/// # Errors
/// It cannot be read, or is no text of a reasonable size: the path and why.
pub fn read(path: &Path) -> Result<String, FileError> {
    reading::text(path).map_err(|e| FileError::reading(path, &e))
}

/// Writes a file and returns where it is. Without `replace` one that is there stays, and
/// the new one is called `name-2`, `name-3`, ….
///
/// # Errors
/// It cannot be written: the path and why.
pub fn write(path: &Path, bytes: &[u8], replace: bool) -> Result<PathBuf, FileError> {
    let wrong = |e: io::Error| FileError::writing(path, &e);
    if replace {
        replace_file(path, bytes).map_err(wrong)?;
        return Ok(path.to_owned());
    }
    for number in 1..=MOST {
        let name = numbered(path, number);
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            Ok(mut file) => return file.write_all(bytes).map(|()| name).map_err(wrong),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(wrong(e)),
        }
    }
    Err(FileError::TooMany(path.to_owned()))
}

fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path
        .extension()
        .map(|e| format!(".{}", e.to_string_lossy()));
    match number {
        1 => path.to_owned(),
        n => path.with_file_name(format!("{stem}-{n}{}", ending.unwrap_or_default())),
    }
}

/// A file to be chosen in the desktop's dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePick {
    /// Where to write; otherwise, what to read.
    pub save: bool,
    /// Where to begin.
    pub folder: PathBuf,
    /// The name that is suggested at first.
    pub name: String,
}

/// Whether there is a desktop that can show a dialog to whoever sits here.
fn has_dialog() -> bool {
    let socket = user_folders::runtime().is_some_and(|r| r.join("bus").exists());
    has_desktop(
        |name| env::var_os(name).is_some_and(|v| !v.is_empty()),
        socket,
    )
}

/// The same from which variables are set and whether the session bus has its socket at
/// the usual place. A dialog over ssh would open on a screen far away.
pub fn has_desktop(set: impl Fn(&str) -> bool, socket: bool) -> bool {
    let far = ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"].into_iter();
    let screen = set("DISPLAY") || set("WAYLAND_DISPLAY");
    let bus = set("DBUS_SESSION_BUS_ADDRESS") || socket;
    screen && bus && !far.into_iter().any(set)
}
