//! Files that people name, read only where they are files: reading a pipe waits for
//! whoever writes there, and a device may have no end.

use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Opens the regular file at `path`.
///
/// # Errors
/// It cannot be opened, or is something else: what.
pub fn open(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() {
        let why = format!("expected a file, found {}", named(kind));
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    File::open(path)
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
