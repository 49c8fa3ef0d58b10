//! The permissions of viewers: a table of all requests, and the lock that a viewer holds on
//! editing.

use std::path::Path;

use crate::{Audience, Command, Refusal};
use divisi_engine::load::LoadPattern;

use super::RemoteRefusal;
use super::message::{Ask, Join};

/// The right that a request requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Right {
    /// Any viewer.
    Watch,
    /// Any viewer that is not read-only. Such requests do not conflict, so the viewer need not be
    /// the editor.
    Act,
    /// The editing viewer. Without an editor, such a request makes its viewer the editor.
    Edit,
}

impl Right {
    /// Returns the right that `ask` requires.
    fn to(ask: &Ask) -> Self {
        match ask {
            Ask::Preview(_) | Ask::History | Ask::WhatIf(_) => Right::Watch,
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

/// The viewer that is editing.
#[derive(Debug, Default)]
pub(super) struct EditLock {
    editor: Option<(u64, String)>,
}

impl EditLock {
    /// Checks that the viewer may send this request. The first viewer that makes a change becomes
    /// the editor.
    ///
    /// # Errors
    /// Returns the reason if the request is not allowed.
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

    /// Releases editing, because the viewer has left or lets others edit.
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

    /// Returns the audience from this viewer's point of view, among `viewers`.
    pub(super) fn seen_by(&self, viewer: u64, viewers: usize) -> Audience {
        Audience {
            viewers,
            editor: self.editor.as_ref().map(|(_, name)| name.clone()),
            you_edit: self.edits(viewer),
            attached: true,
            ..Audience::default()
        }
    }
}

fn may_act(join: &Join) -> Result<(), Refusal> {
    match join.read_only {
        true => Err(RemoteRefusal::ReadOnly.into()),
        false => Ok(()),
    }
}

/// Returns the file of a command, if it has one.
fn file_of(command: &Command) -> Option<&Path> {
    match command {
        Command::StartRecording(path) => Some(path),
        Command::StartLoad(LoadPattern::Replay { file, .. }) => Some(file),
        _ => None,
    }
}

/// Refuses a file path that is relative, since the client runs in another folder.
///
/// # Errors
/// Returns an error if the path is relative.
pub(super) fn check_paths(command: &Command) -> Result<(), Refusal> {
    match file_of(command).filter(|path| !path.is_absolute()) {
        Some(path) => Err(RemoteRefusal::PathRelative(path.to_owned()).into()),
        None => Ok(()),
    }
}
