//! A session with an engine in another process, over a local socket.
//!
//! The [`Hub`] owns the session and serves any number of viewers, each a [`RemoteSession`]. The
//! permissions of the socket's file control access: only its owner may connect. A slow or dead
//! viewer does not delay the server: messages that it does not read in time are dropped and
//! counted, and it receives the newest state once it reads again.
//!
//! The hub polls its session 25 times a second while a viewer is connected and the state changes,
//! four times while nothing changes, and once without viewers. It encodes messages once for all
//! viewers. Each viewer has an outbox of 4 MiB with its own writing thread. Answers are bounded
//! too: a viewer that sends requests and never reads is disconnected.
//!
//! A server holds a lock on a file next to its socket, so that each name is served once. A socket
//! is dead, and is removed, if its lock is free and connecting to it is refused. A server removes
//! only the socket that it bound, identified by device and inode. The folder has mode 0700 and the
//! socket 0600, and the server checks the peer's user with the kernel.

mod client;
mod hub;
mod link;
mod listener;
mod message;
mod place;
mod rights;
mod socket;
mod viewer;

pub use client::{RemoteSession, stop};
pub use hub::{Hub, LogSink};
pub use link::Viewer;
pub use place::{PlaceError, ServerName, path_of};
pub use socket::{BoundSocket, names, probe};

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use divisi_engine::load::LoadError;
use divisi_model::codes::{Code, Coded};

use super::wire::WireError;

/// The reasons why connecting failed.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The socket's path cannot be used.
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
    /// The server refused the console, with the reason.
    #[error("the server refused this console: {0}")]
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

/// The reasons why a server does not execute a console's request.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RemoteRefusal {
    /// The console is read-only.
    #[error("this console is read-only")]
    ReadOnly,
    /// Another console, with this name, is editing.
    #[error("{0} is editing; wait until they leave or release editing (E)")]
    AnotherEdits(String),
    /// The path is relative, but the server runs in another folder.
    #[error("{}: expected an absolute path, since the server runs in another folder", .0.display())]
    PathRelative(PathBuf),
    /// This process cannot use the file.
    #[error("{}: {why}", .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The arrivals file of a load cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The server could not decode the request.
    #[error("invalid request, or a request of another version: {0}")]
    NotUnderstood(String),
    /// The connection to the server has ended, with the reason.
    #[error("{0}")]
    Gone(String),
    /// The request cannot be sent.
    #[error("the request cannot be sent: {0}")]
    NotAsked(String),
    /// The server has not answered in time.
    #[error("the server has not answered for {0:?}")]
    Silent(Duration),
    /// The server answered a preview with another message.
    #[error("the server sent no preview")]
    NoPreview,
    /// The server answered a request for figures with another message.
    #[error("the server sent no figures")]
    NoHistory,
}

impl Coded for RemoteRefusal {
    fn code(&self) -> Code {
        match self {
            RemoteRefusal::ReadOnly => Code::ReadOnly,
            RemoteRefusal::AnotherEdits(_) => Code::AnotherEdits,
            RemoteRefusal::PathRelative(_) => Code::PathRelative,
            RemoteRefusal::File { .. } | RemoteRefusal::Load(_) => Code::LoadFile,
            RemoteRefusal::NotUnderstood(_) => Code::NotUnderstood,
            RemoteRefusal::Gone(_)
            | RemoteRefusal::NotAsked(_)
            | RemoteRefusal::NoPreview
            | RemoteRefusal::NoHistory => Code::ServerGone,
            RemoteRefusal::Silent(_) => Code::ServerSilent,
        }
    }
}
