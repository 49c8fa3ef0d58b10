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
mod hub;
mod listener;
mod message;
mod place;
mod rights;
mod socket;
mod viewer;

pub use client::{RemoteSession, Viewer, stop};
pub use hub::{Hub, LogSink};
pub use place::{PlaceError, ServerName, path_of};
pub use socket::{BoundSocket, names, probe};

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use divisi_engine::load::LoadError;
use divisi_model::codes::{Code, Coded};

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
    Io(#[from] io::Error),
    /// No answer came in time.
    #[error("no answer came within {0:?}")]
    Silent(Duration),
    /// The server turned the console away; says why.
    #[error("the server does not take this console: {0}")]
    Refused(String),
}

impl From<RemoteRefusal> for RemoteError {
    fn from(refusal: RemoteRefusal) -> Self {
        match refusal {
            RemoteRefusal::Silent(waited) => RemoteError::Silent(waited),
            other => RemoteError::Refused(other.to_string()),
        }
    }
}

/// Why what a console asks of a server is not done.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RemoteRefusal {
    /// The console may change nothing.
    #[error("this console is read-only")]
    ReadOnly,
    /// Another console is editing: names it.
    #[error("{0} is editing; nothing changes until they leave or let go (E)")]
    AnotherEdits(String),
    /// The server would look for the file in another folder.
    #[error("{}: expected an absolute path, since the server runs in another folder", .0.display())]
    PathRelative(PathBuf),
    /// A file that is named cannot be used here; says which and why.
    #[error("{}: {why}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A load's file of arrivals cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The request could not be decoded by the server; says why.
    #[error("what was asked cannot be, or is no request of this version: {0}")]
    NotUnderstood(String),
    /// The server is gone; says why.
    #[error("{0}")]
    Gone(String),
    /// The server cannot be asked; says why.
    #[error("the server cannot be asked: {0}")]
    NotAsked(String),
    /// The server has not answered in time.
    #[error("the server has not answered for {0:?}")]
    Silent(Duration),
    /// The server answered something else than what it was asked for.
    #[error("the server gave no preview")]
    NoPreview,
}

impl Coded for RemoteRefusal {
    fn code(&self) -> Code {
        match self {
            RemoteRefusal::ReadOnly => Code::ReadOnly,
            RemoteRefusal::AnotherEdits(_) => Code::AnotherEdits,
            RemoteRefusal::PathRelative(_) => Code::PathRelative,
            RemoteRefusal::File { .. } | RemoteRefusal::Load(_) => Code::LoadFile,
            RemoteRefusal::NotUnderstood(_) => Code::NotUnderstood,
            RemoteRefusal::Gone(_) | RemoteRefusal::NotAsked(_) | RemoteRefusal::NoPreview => {
                Code::ServerGone
            }
            RemoteRefusal::Silent(_) => Code::ServerSilent,
        }
    }
}
