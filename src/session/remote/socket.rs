//! A server's socket: bound if no other server listens there, listed, and removed if its server has
//! ended.

use std::fs::{self, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, socket};

use super::place::{PlaceError, ServerName, failed, folder, socket_of};

/// A socket to serve on, removed when this is dropped.
#[derive(Debug)]
pub struct BoundSocket {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// The bound file: another server's socket at the same path is left alone.
    bound: Option<Inode>,
    name: ServerName,
    _lock: Lock,
}

impl BoundSocket {
    /// Opens the socket of a server with this name.
    ///
    /// # Errors
    /// Returns an error if a server with this name is running or the socket cannot be created.
    pub fn open(name: &ServerName) -> Result<Self, PlaceError> {
        BoundSocket::open_at(&socket_of(name)?, name)
    }

    /// Opens a socket at `path`, in a folder that should be accessible only to its owner.
    ///
    /// # Errors
    /// Returns an error if a server is running there, if the path has a file that is not a socket,
    /// or if the socket cannot be created.
    pub fn open_at(path: &Path, name: &ServerName) -> Result<Self, PlaceError> {
        let lock = Lock::for_socket(path, name)?;
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

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the server's name.
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

/// Returns the names of running servers, and removes sockets of dead ones.
///
/// # Errors
/// Returns an error if there is no safe folder or it cannot be read.
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
        match probe(&path) {
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => sweep(&path, &name),
            Err(_) => {}
            Ok(()) => names.push(name.to_string()),
        }
    }
    names.sort();
    Ok(names)
}

/// Held while a server lives, in a file next to its socket that is removed with it.
#[derive(Debug)]
struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Locks the server `name` whose socket is at `socket`.
    fn for_socket(socket: &Path, name: &ServerName) -> Result<Self, PlaceError> {
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
                // The server that held it has just ended and removed its file.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(PlaceError::Taken(name.to_string())),
                Err(TryLockError::Error(e)) => return Err(failed(&path)(e)),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is held: a process waiting for the lock sees that the file has changed,
        // and tries again.
        if inode(self.file.metadata()) == inode_at(&self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes a dead server's socket, unless a server with the lock is about to listen.
fn sweep(path: &Path, name: &ServerName) {
    if let Ok(_lock) = Lock::for_socket(path, name) {
        let _ = clear(path, name);
    }
}

/// Removes a dead server's socket whose lock is free. No other file is removed: locks can be lost,
/// and other programs may listen here without one.
fn clear(path: &Path, name: &ServerName) -> Result<(), PlaceError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => {}
        Ok(_) => return Err(PlaceError::Occupied(path.to_owned())),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failed(path)(e)),
    }
    match probe(path) {
        Ok(()) => Err(PlaceError::Taken(name.to_string())),
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed(path))
        }
        // For example, a file of another type.
        Err(_) => Err(PlaceError::Occupied(path.to_owned())),
    }
}

/// A file's identity, independent of its name: its device and inode.
type Inode = (u64, u64);

fn inode(found: io::Result<Metadata>) -> Option<Inode> {
    found.ok().map(|m| (m.dev(), m.ino()))
}

fn inode_at(path: &Path) -> Option<Inode> {
    inode(fs::symlink_metadata(path))
}

/// The time within which a listening socket accepts a connection.
const AT_ONCE: Duration = Duration::from_millis(50);

/// Connects to the socket at `path` without blocking indefinitely. The system would block if the
/// backlog is full and no connection is accepted.
///
/// # Errors
/// Returns the connection error; `WouldBlock` if it took longer than `most`.
pub(super) fn connect(path: &Path, most: Duration) -> io::Result<UnixStream> {
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    set_socket_timeout(&socket, Timeout::Send, Some(most))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}

/// Checks that a server listens at `path`.
///
/// # Errors
/// Returns an error if none does: `ConnectionRefused` for a dead socket.
pub fn probe(path: &Path) -> io::Result<()> {
    match connect(path, AT_ONCE) {
        // The backlog is full.
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
        other => other.map(drop),
    }
}
