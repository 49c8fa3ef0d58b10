//! Files and folders of the user: listing, reading and writing them, and choosing them in the
//! desktop's dialog if there is one.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use divisi_model::user_folders;
use divisi_runtime::reading;

use divisi_model::replace::replace_file;

/// The number of names tried before giving up.
const MOST: usize = 10_000;
/// The most listed files of a folder; others can be typed.
const MOST_LISTED: usize = 5_000;

/// A folder's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderListing {
    /// The absolute path.
    pub path: PathBuf,
    /// The files, with hidden ones: folders first, then by name.
    pub items: Vec<FolderItem>,
    /// The number of files beyond the limit.
    pub left_out: usize,
    /// The requested file in the folder, if the path was not a folder, and whether it exists.
    pub about: Option<(String, bool)>,
    /// Whether the desktop has a file dialog.
    pub desktop: bool,
}

/// One file of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderItem {
    /// Its name.
    pub name: String,
    /// Whether it is a folder.
    pub folder: bool,
    /// Its size in bytes, if known.
    pub bytes: Option<u64>,
}

/// Lists the folder at `path`; `~` is the home folder. If `path` is a file or does not exist, lists
/// its folder.
///
/// # Errors
/// Neither it nor its folder can be read: the path and the reason.
pub fn list_path(path: &Path) -> Result<FolderListing, String> {
    let path = at_home(path);
    let whole = std::path::absolute(&path).unwrap_or(path);
    if whole.is_dir() {
        return list(&whole, None);
    }
    let (Some(folder), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(format!("expected a file, found {}", whole.display()));
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

fn list(path: &Path, about: Option<(String, bool)>) -> Result<FolderListing, String> {
    let wrong = |e| cannot_read(path, &e);
    // Resolves `a/../b` and links into a readable path.
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
    // Follows a link, like opening it would.
    let facts = fs::metadata(entry.path()).ok();
    FolderItem {
        name: entry.file_name().to_string_lossy().into_owned(),
        folder: facts.as_ref().is_some_and(fs::Metadata::is_dir),
        bytes: facts.filter(fs::Metadata::is_file).map(|f| f.len()),
    }
}

fn cannot_read(path: &Path, why: &io::Error) -> String {
    format!("cannot read {}: {why}", path.display())
}

/// Returns a file's text.
///
/// # Errors
/// The file cannot be read, or is not a text of a reasonable size: the path and the reason.
pub fn read(path: &Path) -> Result<String, String> {
    reading::text(path).map_err(|e| cannot_read(path, &e))
}

/// Writes a file and returns its path. Without `replace` an existing file stays, and the new file
/// is called `name-2`, `name-3`, ….
///
/// # Errors
/// The file cannot be written: the path and the reason.
pub fn write(path: &Path, bytes: &[u8], replace: bool) -> Result<PathBuf, String> {
    let cannot = format!("cannot write {}", path.display());
    let wrong = |e: io::Error| format!("{cannot}: {e}");
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
    Err(format!("{cannot}: too many files with similar names"))
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

/// A request to choose a file in the desktop's dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePick {
    /// Whether to choose a file to write instead of one to read.
    pub save: bool,
    /// The initial folder.
    pub folder: PathBuf,
    /// The initial name.
    pub name: String,
}

/// Returns whether there is a desktop that can show a dialog to this user.
fn has_dialog() -> bool {
    let socket = user_folders::runtime().is_some_and(|r| r.join("bus").exists());
    has_desktop(
        |name| env::var_os(name).is_some_and(|v| !v.is_empty()),
        socket,
    )
}

/// Returns whether there is a desktop, from the set variables and the session bus's socket at its
/// usual place. Over ssh a dialog would open on a remote screen.
pub fn has_desktop(set: impl Fn(&str) -> bool, socket: bool) -> bool {
    let far = ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"].into_iter();
    let screen = set("DISPLAY") || set("WAYLAND_DISPLAY");
    let bus = set("DBUS_SESSION_BUS_ADDRESS") || socket;
    screen && bus && !far.into_iter().any(set)
}
