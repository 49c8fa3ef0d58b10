//! Who may ask for what: one table of all that can be asked.

use std::path::Path;

use crate::load::LoadPattern;
use crate::session::{Command, Refusal};

use super::message::Ask;
use super::refusal::RemoteRefusal;

/// The right that a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// Anybody who watches.
    Watch,
    /// Not read-only. It is nothing that two could do against each other, so it matters
    /// not who edits.
    Act,
    /// The one who edits. Where nobody does, asking for it is how one begins to.
    Edit,
}

impl Right {
    /// Returns the right that `ask` takes.
    pub(super) fn to(ask: &Ask) -> Self {
        match ask {
            Ask::Preview(_) => Right::Watch,
            Ask::Stop => Right::Act,
            Ask::Command(command) => Right::to_command(command),
        }
    }

    fn to_command(command: &Command) -> Self {
        match command {
            Command::TakeEditing(false) => Right::Watch,
            Command::Apply(..)
            | Command::EndProbation(_)
            | Command::Undo
            | Command::Redo
            | Command::SetTarget(_)
            | Command::SetVote(..)
            | Command::SetMaxInf(..)
            | Command::LoseDevice(_)
            | Command::RegainDevice(_)
            | Command::SlowDevice(..)
            | Command::StartLoad(_)
            | Command::StopLoad
            | Command::StartSearch(_)
            | Command::PauseSearch
            | Command::ResumeSearch
            | Command::CancelSearch
            | Command::ClearLatency
            | Command::StartRecording(_)
            | Command::StopRecording
            | Command::Play(_)
            | Command::TakeEditing(true)
            | Command::KeepServing => Right::Edit,
        }
    }
}

/// The file that a command means, if it means one.
fn file_of(command: &Command) -> Option<&Path> {
    match command {
        Command::StartRecording(path) => Some(path),
        Command::StartLoad(LoadPattern::Replay { file, .. }) => Some(file),
        _ => None,
    }
}

/// Refuses a file that this process would look for in another folder than whoever asks.
///
/// # Errors
/// The path is relative.
pub(super) fn check_paths(command: &Command) -> Result<(), Refusal> {
    match file_of(command).filter(|path| !path.is_absolute()) {
        Some(path) => Err(RemoteRefusal::PathRelative(path.to_owned()).into()),
        None => Ok(()),
    }
}
