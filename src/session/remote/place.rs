//! The location of sockets: a folder accessible only to its owner, with one socket for each server,
//! named after it.

use std::fmt;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

use divisi_model::user_folders;

/// The reasons why a socket cannot be used.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// A server with this name is running.
    #[error(
        "a server named `{0}` is already running; attach to it, stop it or choose another name (--name)"
    )]
    Taken(String),
    /// The folder of sockets is not safe.
    #[error("{path}: expected a folder that only you can access; {why}")]
    Unsafe {
        /// The path of the file or folder.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The text is not a valid server name.
    #[error(
        "server name `{0}`: expected 1 to 64 letters, digits, `-`, `_` and `.`, \
         not starting with `-` or `.`"
    )]
    Name(String),
    /// The path has a file that is not a dead socket.
    #[error("{0}: expected no file or the socket of a stopped server, found another file")]
    Occupied(PathBuf),
    /// A file or folder cannot be used.
    #[error("{path}: {error}")]
    Io {
        /// The path of the file or folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

pub(super) fn failed(path: &Path) -> impl FnOnce(io::Error) -> PlaceError {
    let path = path.to_owned();
    move |error| PlaceError::Io { path, error }
}

/// Returns the folder of this user's sockets, and creates it if it is missing.
pub(super) fn folder() -> Result<PathBuf, PlaceError> {
    let folder = user_folders::sockets();
    let uid = rustix::process::getuid().as_raw();
    let made = DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(&folder);
    made.map_err(failed(&folder))?;
    let found = fs::symlink_metadata(&folder).map_err(failed(&folder))?;
    let why = match &found {
        f if !f.is_dir() => "it is not a folder",
        f if f.uid() != uid => "it belongs to another user",
        f if f.mode() & 0o077 != 0 => "other users can access it (run `chmod 700`)",
        _ => return Ok(folder),
    };
    let (path, why) = (folder, why.to_owned());
    Err(PlaceError::Unsafe { path, why })
}

/// Returns the socket path of a server, given by name or by path.
///
/// # Errors
/// Returns an error if the name is invalid or sockets have no safe folder.
pub fn path_of(name: &str) -> Result<PathBuf, PlaceError> {
    match name.contains('/') {
        true => Ok(PathBuf::from(name)),
        false => socket_of(&name.parse()?),
    }
}

/// Returns the socket path of the server `name`.
pub(super) fn socket_of(name: &ServerName) -> Result<PathBuf, PlaceError> {
    Ok(folder()?.join(format!("{name}.sock")))
}

/// A server's name: letters, digits, `-`, `_` and `.`, not starting with `-` or `.`. Such a name is
/// neither a path, so its socket is always in the folder of sockets, nor an option of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerName(String);

/// The maximum length in characters.
const MOST: usize = 64;

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn begins(c: char) -> bool {
    !matches!(c, '-' | '.')
}

impl ServerName {
    /// Returns the closest name to `text`: invalid characters become `-`, or `_` at the start.
    pub fn like(text: &str) -> Self {
        let plain = |(at, c): (usize, char)| match c {
            c if is_plain(c) && (at > 0 || begins(c)) => c,
            _ if at == 0 => '_',
            _ => '-',
        };
        let name: String = text.chars().take(MOST).enumerate().map(plain).collect();
        match name.is_empty() {
            true => ServerName("_".into()),
            false => ServerName(name),
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerName {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let fits = text.len() <= MOST && text.starts_with(begins);
        match fits && text.chars().all(is_plain) {
            true => Ok(ServerName(text.to_owned())),
            false => Err(PlaceError::Name(text.to_owned())),
        }
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
