//! The effects that an update wants outside of the model.

use std::path::PathBuf;
use std::time::Duration;

use divisi_model::trace::Span;
use divisi_session::{Arranged, Arrangement, Command, EditPreview, Refusal, Setup, Snapshot};

use crossterm::event::{KeyEvent, MouseEvent};

use crate::config::{ConfigError, Settings};
use crate::files::{FileError, FilePick, FolderListing};
use crate::layout::PanelLayout;

/// An event that the console handles.
#[derive(Clone, Debug)]
pub enum ConsoleEvent {
    /// A key went down or repeats.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something.
    Mouse(MouseEvent),
    /// The terminal went away.
    HungUp,
    /// The screen has another size: columns, rows.
    Resize(u16, u16),
    /// News from the session.
    News(Box<SessionNews>),
    /// Spans and the time alone: what comes with every frame.
    Spans {
        /// The session's time.
        now: Duration,
        /// Spans since the last look.
        spans: Vec<Span>,
        /// Spans lost since the start.
        lost: u64,
    },
    /// The session's preview of a setup, or why there is none.
    Previewed(Box<Setup>, Result<EditPreview, Refusal>),
    /// The result of an arrangement of a setup, or why it was refused.
    Arranged(Box<Setup>, Result<Arranged, Refusal>),
    /// The session took the command.
    Accepted(Command),
    /// The session refused a command; says why.
    Refused(String),
    /// A file was written, or why not.
    Wrote(Result<PathBuf, FileError>),
    /// The settings from now on, or what is wrong with them.
    Configured(Result<Box<Settings>, ConfigError>),
    /// The listing of a folder, or of the folder around a file; or why it cannot be read.
    Looked(Result<FolderListing, FileError>),
    /// A file's text, or why it cannot be read.
    Read(PathBuf, Result<String, FileError>),
    /// The file chosen in the desktop's own dialog, if any, or why the dialog failed.
    Picked(Result<Option<PathBuf>, FileError>),
}

/// The session's state and its latest spans.
#[derive(Clone, Debug)]
pub struct SessionNews {
    /// Its state.
    pub snapshot: Snapshot,
    /// Spans since the last news.
    pub spans: Vec<Span>,
    /// Spans lost since the start.
    pub lost: u64,
}

/// Work to be done outside of the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send a command to the session.
    Send(Command),
    /// Ask the session what a setup would change.
    Preview(Box<Setup>),
    /// Ask the session for several changes of a setup's matrix at once, where they fit.
    Arrange(Box<Setup>, Arrangement),
    /// See what is at a path.
    Look(PathBuf),
    /// Read a file.
    Read(PathBuf),
    /// Let the desktop's own dialog choose a file.
    Pick(FilePick),
    /// End that dialog.
    StopPick,
    /// Write a file; where it must not replace one, a free name beside it is taken.
    Write {
        /// Where.
        path: PathBuf,
        /// The file's content.
        bytes: Vec<u8>,
        /// Whether an existing file is replaced.
        replace: bool,
    },
    /// Keep a layout among the user's own.
    SaveLayout(PanelLayout),
    /// Take the mouse, or let it go.
    Mouse(bool),
    /// Give the terminal back until the program is continued.
    Suspend,
    /// Write the screen to files, as it is.
    Picture,
    /// Leave.
    Quit,
}
