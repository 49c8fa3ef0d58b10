//! Connecting to a socket without waiting for ever: where nobody takes connections and as
//! many wait as may, the system would have one more wait too.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};

/// A socket that somebody listens at takes a connection within this time, or will not.
const AT_ONCE: Duration = Duration::from_millis(50);

/// Connects to the socket at `path`.
///
/// # Errors
/// It cannot be; `WouldBlock` where that took longer than `most`.
pub(super) fn reach(path: &Path, most: Duration) -> io::Result<UnixStream> {
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    set_socket_timeout(&socket, Timeout::Send, Some(most))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}

/// Whether somebody listens at `path`.
///
/// # Errors
/// Nobody does: `ConnectionRefused` where it is a dead socket.
pub fn knock(path: &Path) -> io::Result<()> {
    match reach(path, AT_ONCE) {
        // So many wait there that it takes no more.
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
        other => other.map(drop),
    }
}
