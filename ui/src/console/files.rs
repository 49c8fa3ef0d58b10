//! Files that the console writes.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Names tried before giving up.
const MOST: usize = 10_000;

/// Writes a file and gives where it is. Without `replace` one that is there stays, and
/// the new one is called `name-2`, `name-3`, ….
///
/// # Errors
/// It cannot be written: the path and why.
pub fn write(path: &Path, bytes: &[u8], replace: bool) -> Result<PathBuf, String> {
    let wrong = |e: io::Error| format!("cannot write {}: {e}", path.display());
    if replace {
        // Beside it first: a full disk must not cost the file that was there.
        let beside = path.with_added_extension("new");
        fs::write(&beside, bytes).map_err(wrong)?;
        fs::rename(&beside, path).map_err(wrong)?;
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
    Err(format!("cannot write {}: too many like it", path.display()))
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
