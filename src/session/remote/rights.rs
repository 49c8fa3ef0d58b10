//! Who may ask for what: one table of all that can be asked, and the lock that one of those who
//! watch has on editing.

use std::path::Path;

use crate::{Audience, Command, Refusal};
use divisi_engine::load::LoadPattern;

use super::RemoteRefusal;
use super::message::{Ask, Join};

/// The right that a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Right {
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
    fn to(ask: &Ask) -> Self {
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
            | Command::SetMix(_)
            | Command::SetScalingPolicy(_)
            | Command::ComparePolicies
            | Command::StartSearch(_)
            | Command::PauseSearch
            | Command::ResumeSearch
            | Command::CancelSearch
            | Command::Listen(_)
            | Command::PlanModels(_)
            | Command::ApplyModels { .. }
            | Command::DropModelsPlan(_)
            | Command::LoadModel(_)
            | Command::UnloadModel { .. }
            | Command::ClearLatency
            | Command::StartRecording(_)
            | Command::StopRecording
            | Command::Play(_)
            | Command::TakeEditing(true)
            | Command::KeepServing => Right::Edit,
        }
    }
}

/// Who has taken editing on.
#[derive(Debug, Default)]
pub(super) struct EditLock {
    editor: Option<(u64, String)>,
}

impl EditLock {
    /// Lets the viewer ask for this; the first who changes something is the one who
    /// edits.
    ///
    /// # Errors
    /// It may not; says why.
    pub(super) fn admit(&mut self, viewer: u64, join: &Join, ask: &Ask) -> Result<(), Refusal> {
        match Right::to(ask) {
            Right::Watch => {}
            Right::Act => may_act(join)?,
            Right::Edit => {
                may_act(join)?;
                self.is_free_for(viewer)?;
                self.editor = Some((viewer, join.name.clone()));
            }
        }
        if let Ask::Command(Command::TakeEditing(false)) = ask {
            self.leave(viewer);
        }
        Ok(())
    }

    /// The viewer is gone, or lets others edit.
    pub(super) fn leave(&mut self, viewer: u64) {
        if self.edits(viewer) {
            self.editor = None;
        }
    }

    fn edits(&self, viewer: u64) -> bool {
        self.editor.as_ref().is_some_and(|(v, _)| *v == viewer)
    }

    fn is_free_for(&self, viewer: u64) -> Result<(), Refusal> {
        match &self.editor {
            Some((other, name)) if *other != viewer => {
                Err(RemoteRefusal::AnotherEdits(name.clone()).into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the audience as this viewer sees it, among so many viewers.
    pub(super) fn seen_by(&self, viewer: u64, viewers: usize) -> Audience {
        Audience {
            viewers,
            editor: self.editor.as_ref().map(|(_, name)| name.clone()),
            you_edit: self.edits(viewer),
            attached: true,
            may_stay: false,
        }
    }
}

fn may_act(join: &Join) -> Result<(), Refusal> {
    match join.read_only {
        true => Err(RemoteRefusal::ReadOnly.into()),
        false => Ok(()),
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
