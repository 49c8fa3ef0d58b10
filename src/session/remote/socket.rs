//! The socket of a server: bound where no other server listens, found, and removed where its
//! server is gone.

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
        match probe(&path) {
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => sweep(&path, &name),
            Err(_) => {}
            Ok(()) => names.push(name.to_string()),
        }
    }
    names.sort();
    Ok(names)
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
    match probe(path) {
        Ok(()) => Err(PlaceError::Taken(name.to_string())),
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed(path))
        }
        // Of another kind, say.
        Err(_) => Err(PlaceError::Occupied(path.to_owned())),
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

/// A socket that somebody listens at takes a connection within this time, or will not.
const AT_ONCE: Duration = Duration::from_millis(50);

/// Connects to the socket at `path` without waiting for ever: where nobody takes connections and
/// as many wait as may, the system would have one more wait too.
///
/// # Errors
/// It cannot be; `WouldBlock` where that took longer than `most`.
pub(super) fn connect(path: &Path, most: Duration) -> io::Result<UnixStream> {
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    set_socket_timeout(&socket, Timeout::Send, Some(most))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}

/// Whether somebody listens at `path`.
///
/// # Errors
/// Nobody does: `ConnectionRefused` where it is a dead socket.
pub fn probe(path: &Path) -> io::Result<()> {
    match connect(path, AT_ONCE) {
        // So many wait there that it takes no more.
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
        other => other.map(drop),
    }
}
