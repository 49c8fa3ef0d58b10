//! Events for the model, and effects outside of it.

use std::path::PathBuf;
use std::time::Duration;

use divisi_model::trace::Span;
use divisi_session::{
    Arranged, Arrangement, Command, EditPreview, FigureHistory, Refusal, Setup, Snapshot, WhatIf,
    WhatIfReply,
};

use crossterm::event::{KeyEvent, MouseEvent};

use crate::config::{ConfigError, Settings};
use crate::files::{FilePick, FolderListing};
use crate::layout::PanelLayout;

/// An event that the console handles.
#[derive(Clone, Debug)]
pub enum ConsoleEvent {
    /// A key went down or repeats.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse was moved or used.
    Mouse(MouseEvent),
    /// The terminal has gone.
    HungUp,
    /// The size of the screen changed: columns, rows.
    Resize(u16, u16),
    /// News from the session.
    News(Box<SessionNews>),
    /// Spans and the time, for every frame.
    Spans {
        /// The session's time.
        now: Duration,
        /// Spans since the last event.
        spans: Vec<Span>,
        /// Spans lost since the start.
        lost: u64,
    },
    /// The session's preview of a setup, or the reason for its refusal.
    Previewed(Box<Setup>, Result<EditPreview, Refusal>),
    /// The session's reply to a what-if question, or the reason for its refusal.
    Answered(WhatIf, Result<WhatIfReply, Refusal>),
    /// The result of an arrangement of a setup, or the reason for its refusal.
    Arranged(Box<Setup>, Result<Arranged, Refusal>),
    /// The figures of the whole session, or `None` if they cannot be read.
    History(Option<FigureHistory>),
    /// The session accepted a command.
    Accepted(Command),
    /// The session refused a command, with the reason.
    Refused(String),
    /// A file was written, or writing failed.
    Wrote(Result<PathBuf, String>),
    /// The new settings, or an error in them.
    Configured(Result<Box<Settings>, ConfigError>),
    /// The listing of a folder, or of the folder around a file, or the reason why it cannot be
    /// read.
    Looked(Result<FolderListing, String>),
    /// A file's text, or the reason why it cannot be read.
    Read(PathBuf, Result<String, String>),
    /// The file chosen in the desktop's dialog, if any, or the dialog's error.
    Picked(Result<Option<PathBuf>, String>),
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

/// An action outside of the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send a command to the session.
    Send(Command),
    /// Request the preview of a setup from the session.
    Preview(Box<Setup>),
    /// Request the figures of the whole session.
    History,
    /// Ask the session a what-if question.
    Ask(WhatIf),
    /// Request several changes of a setup's matrix from the session, as far as they fit.
    Arrange(Box<Setup>, Arrangement),
    /// List a path.
    Look(PathBuf),
    /// Read a file.
    Read(PathBuf),
    /// Choose a file in the desktop's dialog.
    Pick(FilePick),
    /// Close that dialog.
    StopPick,
    /// Write a file, under another name if it must not replace an existing one.
    Write {
        /// The path.
        path: PathBuf,
        /// The file's content.
        bytes: Vec<u8>,
        /// Whether an existing file is replaced.
        replace: bool,
    },
    /// Save a layout among the user's own.
    SaveLayout(PanelLayout),
    /// Turn the mouse on or off.
    Mouse(bool),
    /// Restore the terminal until the program is continued.
    Suspend,
    /// Tell the operator that an incident began: its text.
    Notify(String),
    /// Write the current screen to files.
    Picture,
    /// Quit.
    Quit,
}
