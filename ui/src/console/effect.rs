//! What an update wants done outside of the model.

use std::path::PathBuf;
use std::time::Duration;

use divisi::session::{
    Arranged, Arrangement, Command, EditPreview, Session, Setup, Snapshot, arrange,
};
use divisi::trace::Span;

use crossterm::event::{KeyEvent, MouseEvent};

use super::files::FolderListing;
use super::layout::PanelLayout;
use super::native::FilePick;
use crate::config::Settings;

/// What happened.
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
    /// What a preview says of the setup that it was asked about, or why there is none.
    Previewed(Box<Setup>, Result<EditPreview, String>),
    /// What an arrangement makes of the setup that it was asked about, or why it cannot.
    Arranged(Box<Setup>, Result<Arranged, String>),
    /// The session took the command.
    Accepted(Command),
    /// The session refused a command; says why.
    Refused(String),
    /// A file was written, or why not.
    Wrote(Result<PathBuf, String>),
    /// What is configured from now on, or what is wrong with it.
    Configured(Result<Box<Settings>, String>),
    /// What is at a path: a folder's files, or a file's place.
    Looked(Result<FolderListing, String>),
    /// A file's text, or why it cannot be read.
    Read(PathBuf, Result<String, String>),
    /// What was chosen in the desktop's own dialog, if anything, or why it cannot ask.
    Picked(Result<Option<PathBuf>, String>),
}

/// What the session showed.
#[derive(Clone, Debug)]
pub struct SessionNews {
    /// Its state.
    pub snapshot: Snapshot,
    /// Spans since the last news.
    pub spans: Vec<Span>,
    /// Spans lost since the start.
    pub lost: u64,
}

/// What is to be done.
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
        path: PathBuf,
        bytes: Vec<u8>,
        replace: bool,
    },
    /// Keep a layout among the user's own.
    SaveLayout(PanelLayout),
    /// Take the mouse, or let it go.
    Mouse(bool),
    /// Give the terminal back until the program is continued.
    Suspend,
    /// Leave.
    Quit,
}

/// Does what concerns the session and gives its answer; the rest is the terminal's.
pub fn perform(effect: Effect, session: &mut dyn Session) -> Result<ConsoleEvent, Effect> {
    match effect {
        Effect::Send(command) => Ok(match session.command(command.clone()) {
            Ok(()) => ConsoleEvent::Accepted(command),
            Err(refusal) => ConsoleEvent::Refused(refusal.to_string()),
        }),
        Effect::Preview(setup) => {
            let preview = session.preview(&setup);
            Ok(ConsoleEvent::Previewed(
                setup,
                preview.map_err(|r| r.to_string()),
            ))
        }
        Effect::Arrange(setup, arrangement) => {
            let arranged = arrange(session, &setup, arrangement);
            Ok(ConsoleEvent::Arranged(
                setup,
                arranged.map_err(|r| r.to_string()),
            ))
        }
        other => Err(other),
    }
}
