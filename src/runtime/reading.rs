//! Reads files that users name, and only regular ones: reading a pipe would wait for its
//! writer, and a device may have no end. Readers of their contents share one error.

use std::fmt::Display;
use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use thiserror::Error;

/// The reason why a reader refuses a file or a request: the place, the expected content and the
/// content found there, in words.
///
/// ```
/// # use divisi_runtime::reading::ReadError;
/// let error = ReadError::expected("a number", "`x`").at("column label").at("line 3");
/// assert_eq!(error.to_string(), "line 3: column label: expected a number, found `x`");
/// ```
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ReadError(String);

impl ReadError {
    /// Creates an error from its reason.
    pub fn new(reason: impl Display) -> Self {
        ReadError(reason.to_string())
    }

    /// Creates the error of content other than expected.
    pub fn expected(expected: impl Display, found: impl Display) -> Self {
        ReadError(format!("expected {expected}, found {found}"))
    }

    /// Returns the error with its place in front: a file, a field, a line or a row.
    #[must_use]
    pub fn at(self, place: impl Display) -> Self {
        ReadError(format!("{place}: {self}"))
    }
}

/// The most bytes of a text; a larger one is taken for a mistake.
pub const MOST_TEXT: u64 = 16 << 20;

/// Opens the regular file at `path`.
///
/// # Errors
/// The file cannot be opened, or is a folder, a pipe, a socket or a device.
pub fn open(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() {
        let why = format!("expected a file, found {}", named(kind));
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    File::open(path)
}

/// Reads all of the regular file at `path`.
///
/// # Errors
/// As for [`open`], or the file cannot be read.
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    // If the system cannot provide the memory, this returns an error instead of aborting the
    // process.
    let size = file.metadata()?.len();
    let size = usize::try_from(size).map_err(|_| ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(size)?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of the regular file at `path`.
///
/// # Errors
/// As for [`open`], or the text is longer than [`MOST_TEXT`] or not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    text_within(path, MOST_TEXT)
}

/// Reads the text of the regular file at `path`, of at most `most` bytes.
///
/// # Errors
/// As for [`text`], with the other bound.
pub fn text_within(path: &Path, most: u64) -> io::Result<String> {
    let wrong = |why: String| io::Error::new(ErrorKind::InvalidData, why);
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let most = most >> 20;
        return Err(wrong(format!("expected a text of at most {most} MiB")));
    }
    String::from_utf8(bytes).map_err(|_| wrong("expected UTF-8 text".into()))
}

#[cfg(unix)]
fn named(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn named(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else {
        "a device"
    }
}
