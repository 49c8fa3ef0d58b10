//! Where sockets lie: a folder that is its owner's alone, one socket a server.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::name::ServerName;
use super::reach::knock;

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

fn failed(path: &Path) -> impl FnOnce(io::Error) -> PlaceError {
    let path = path.to_owned();
    move |error| PlaceError::Io { path, error }
}

/// The folder of this user's sockets, made if it is not there.
fn folder() -> Result<PathBuf, PlaceError> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let uid = rustix::process::getuid().as_raw();
    let folder = match runtime.filter(|r| r.is_absolute()) {
        Some(runtime) => runtime.join("divisi"),
        None => std::env::temp_dir().join(format!("divisi-{uid}")),
    };
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
fn socket_of(name: &ServerName) -> Result<PathBuf, PlaceError> {
    Ok(folder()?.join(format!("{name}.sock")))
}

/// The servers that run, by their names; sockets of dead ones are cleaned up.
///
/// # Errors
/// Sockets have no safe folder, or it cannot be read.
pub fn names() -> Result<Vec<String>, PlaceError> {
    let folder = folder()?;
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed(&folder))?.flatten() {
        let path = entry.path();
        let name = path.file_stem().and_then(|s| s.to_str());
        let name = name.and_then(|name| name.parse::<ServerName>().ok());
        let (Some(name), true) = (name, path.extension().is_some_and(|e| e == "sock")) else {
            continue;
        };
        match knock(&path) {
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => sweep(&path, &name),
            Err(_) => {}
            Ok(()) => names.push(name.to_string()),
        }
    }
    names.sort();
    Ok(names)
}

/// A socket to serve on. It goes when this is dropped.
#[derive(Debug)]
pub struct BoundSocket {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// Which file was bound: another's at the same path is left alone.
    bound: Option<Inode>,
    name: ServerName,
    _lock: Lock,
}

impl BoundSocket {
    /// Opens the socket of a server called `name`.
    ///
    /// # Errors
    /// One runs under this name, or the socket cannot be made.
    pub fn open(name: &ServerName) -> Result<Self, PlaceError> {
        BoundSocket::open_at(&socket_of(name)?, name)
    }

    /// Opens a socket at `path`, which is to lie in a folder of the owner alone.
    ///
    /// # Errors
    /// One is served there already, something else than a socket lies there, or it cannot
    /// be made.
    pub fn open_at(path: &Path, name: &ServerName) -> Result<Self, PlaceError> {
        let lock = Lock::of(path, name)?;
        clear(path, name)?;
        let listener = UnixListener::bind(path).map_err(failed(path))?;
        let door = BoundSocket {
            listener,
            path: path.to_owned(),
            bound: inode_at(path),
            name: name.clone(),
            _lock: lock,
        };
        let owner = Permissions::from_mode(0o600);
        fs::set_permissions(path, owner).map_err(failed(path))?;
        Ok(door)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The server's name.
    pub fn name(&self) -> &ServerName {
        &self.name
    }
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        if self.bound.is_some() && self.bound == inode_at(&self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Which file it is, whatever it is called: its device and number there.
type Inode = (u64, u64);

fn inode(found: io::Result<Metadata>) -> Option<Inode> {
    found.ok().map(|m| (m.dev(), m.ino()))
}

fn inode_at(path: &Path) -> Option<Inode> {
    inode(fs::symlink_metadata(path))
}

/// Held while a server lives, in a file beside its socket that goes with it.
#[derive(Debug)]
struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// The lock of the server called `name` whose socket is at `socket`.
    fn of(socket: &Path, name: &ServerName) -> Result<Self, PlaceError> {
        let path = socket.with_extension("lock");
        loop {
            let file = OpenOptions::new()
                .create(true)
                .write(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)
                .map_err(failed(&path))?;
            match file.try_lock() {
                Ok(()) if inode(file.metadata()) == inode_at(&path) => {
                    return Ok(Lock { file, path });
                }
                // The server that had it has just gone, and its file with it.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(PlaceError::Taken(name.to_string())),
                Err(TryLockError::Error(e)) => return Err(failed(&path)(e)),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is held: who waits for it sees that it is another file's, and asks again.
        if inode(self.file.metadata()) == inode_at(&self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the socket that a server left, unless one with the lock is about to listen.
fn sweep(path: &Path, name: &ServerName) {
    if let Ok(_lock) = Lock::of(path, name) {
        let _ = clear(path, name);
    }
}

/// Removes the socket that a server left whose lock is free. Nothing else is removed: locks
/// can be lost, and others may listen here who have none.
fn clear(path: &Path, name: &ServerName) -> Result<(), PlaceError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => {}
        Ok(_) => return Err(PlaceError::Occupied(path.to_owned())),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failed(path)(e)),
    }
    match knock(path) {
        Ok(()) => Err(PlaceError::Taken(name.to_string())),
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed(path))
        }
        // Of another kind, say.
        Err(_) => Err(PlaceError::Occupied(path.to_owned())),
    }
}
