//! Where sockets lie: a folder that is its owner's alone, one socket a server, named after it.

use std::fmt;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

use divisi_model::user_folders;

/// Why there is no socket to serve on or to join.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// A server of this name is running.
    #[error("a server named `{0}` is running already; join it, stop it or give another name")]
    Taken(String),
    /// The folder of sockets is not safe; says why.
    #[error("{path}: expected a folder of your own that nobody else can enter; {why}")]
    Unsafe {
        /// The path of the file or folder.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The text is no name of a server.
    #[error(
        "a server cannot be named `{0}`: expected 1 to 64 letters, digits, `-`, `_` and `.`, \
         not a `-` or `.` first"
    )]
    Name(String),
    /// Something else than a dead socket lies at the path.
    #[error(
        "{0}: expected nothing or the socket of a server that is gone, found something else; it stays as it is"
    )]
    Occupied(PathBuf),
    /// A file or folder cannot be used.
    #[error("{path}: {error}")]
    Io {
        /// The path of the file or folder.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

pub(super) fn failed(path: &Path) -> impl FnOnce(io::Error) -> PlaceError {
    let path = path.to_owned();
    move |error| PlaceError::Io { path, error }
}

/// The folder of this user's sockets, made if it is not there.
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
        f if !f.is_dir() => "it is no folder",
        f if f.uid() != uid => "it is another user's",
        f if f.mode() & 0o077 != 0 => "others can enter it (chmod 700 it)",
        _ => return Ok(folder),
    };
    let (path, why) = (folder, why.to_owned());
    Err(PlaceError::Unsafe { path, why })
}

/// Where the server listens that is to be joined: called `name`, or with a socket of that
/// path.
///
/// # Errors
/// No such name can be, or sockets have no safe folder.
pub fn path_of(name: &str) -> Result<PathBuf, PlaceError> {
    match name.contains('/') {
        true => Ok(PathBuf::from(name)),
        false => socket_of(&name.parse()?),
    }
}

/// Where a server called `name` listens.
pub(super) fn socket_of(name: &ServerName) -> Result<PathBuf, PlaceError> {
    Ok(folder()?.join(format!("{name}.sock")))
}

/// A server's name: letters, digits, `-`, `_` and `.`, not a `-` or `.` first. It is
/// no path, so a socket named by it lies in the folder of sockets and nowhere else, and no
/// option of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerName(String);

/// Characters of a name at most.
const MOST: usize = 64;

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn begins(c: char) -> bool {
    !matches!(c, '-' | '.')
}

impl ServerName {
    /// The name that is most like `text`: what cannot be in one becomes `-`, or `_` where it
    /// comes first.
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

    /// The name as text.
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
