//! Who may change things: one of those who watch.

use crate::session::{Audience, Command, Refusal};

use super::message::{Ask, Join};
use super::refusal::RemoteRefusal;
use super::rights::Right;

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
