//! The service manager: systemd learns when the server is ready (`Type=notify`).

use std::os::unix::net::UnixDatagram;
use std::path::Path;

use anyhow::{Context, Result};

/// The socket of the service manager; unset without one.
const SOCKET: &str = "NOTIFY_SOCKET";

/// Reports that the server is ready.
///
/// # Errors
/// The variable names a socket that does not accept the message.
pub(crate) fn ready() -> Result<()> {
    send("READY=1")
}

/// Reports that the server has begun to stop.
///
/// # Errors
/// The variable names a socket that does not accept the message.
pub(crate) fn stopping() -> Result<()> {
    send("STOPPING=1")
}

/// Sends a message by systemd's protocol, `sd_notify(3)`: one datagram of assignments.
fn send(state: &str) -> Result<()> {
    let Some(path) = std::env::var_os(SOCKET).filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    deliver(state, Path::new(&path)).with_context(|| format!("{SOCKET}: {}", path.display()))
}

fn deliver(state: &str, path: &Path) -> std::io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    #[cfg(target_os = "linux")]
    if let Some(name) = path.to_str().and_then(|path| path.strip_prefix('@')) {
        use std::os::linux::net::SocketAddrExt;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        return socket.send_to_addr(state.as_bytes(), &address).map(drop);
    }
    socket.send_to(state.as_bytes(), path).map(drop)
}
