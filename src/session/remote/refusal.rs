//! Why a server, or the way to it, does not do what a console asks for.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::codes::{Code, Coded};
use crate::load::LoadError;

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
