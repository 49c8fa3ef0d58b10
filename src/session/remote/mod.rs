//! A session with an engine in another process, over a local socket.
//!
//! The [`Hub`] owns the session and serves any number of viewers; a [`RemoteSession`]
//! is one of them. Who may connect is who may open the socket's file: its owner. A
//! viewer that is slow or dies costs the server nothing: what it does not take in time
//! is dropped and counted, and the newest state is sent once it reads again.
//!
//! The hub looks at its session 25 times a second while somebody watches and something moves, four
//! times while nothing does, once while nobody watches, and encodes once for all viewers. Each
//! viewer has an outbox of 4 MiB that a thread of its own writes. Answers have a bound too: a
//! viewer that asks and never reads is cut off.
//!
//! A name is served once because its server holds a lock on a file beside the socket. A socket is
//! dead, and is removed, where that lock is free and connecting is refused. A server removes what
//! it bound itself, told by device and inode. The folder has mode 0700 and the socket 0600, and the
//! kernel is asked for the peer's user.

mod client;
mod edit_lock;
mod frame;
mod hub;
mod link;
mod message;
mod name;
mod outbox;
mod place;
mod reach;
mod refusal;
mod rights;
mod viewer;

pub use client::{RemoteSession, Viewer, stop};
pub use hub::{Hub, LogSink};
pub use name::ServerName;
pub use place::{BoundSocket, PlaceError, names, path_of};
pub use reach::knock;
pub use refusal::RemoteRefusal;

use std::time::Duration;

use thiserror::Error;

use super::wire::WireError;

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The socket has no usable place.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The bytes received are damaged, or of another format or version.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The socket cannot be read or written.
    #[error("the connection failed")]
    Io(#[from] std::io::Error),
    /// No answer came in time.
    #[error("no answer came within {0:?}")]
    Silent(Duration),
    /// The server turned the console away; says why.
    #[error("the server does not take this console: {0}")]
    Refused(String),
}
