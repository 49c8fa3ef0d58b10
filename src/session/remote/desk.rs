//! Who may change things: one of those who watch.

use crate::session::{Audience, Command, Refusal};

use super::message::Join;

/// Who has taken editing on.
#[derive(Debug, Default)]
pub struct Desk {
    editor: Option<(u64, String)>,
}

impl Desk {
    /// Whether the viewer may give this command; the first who changes something is
    /// the one who edits.
    pub fn admit(&mut self, viewer: u64, join: &Join, command: &Command) -> Result<(), Refusal> {
        if let Command::TakeEditing(false) = command {
            self.leave(viewer);
            return Ok(());
        }
        self.may_change(viewer, join)?;
        self.editor = Some((viewer, join.name.clone()));
        Ok(())
    }

    /// The viewer is gone, or lets others edit.
    pub fn leave(&mut self, viewer: u64) {
        if self.editor.as_ref().is_some_and(|(v, _)| *v == viewer) {
            self.editor = None;
        }
    }

    fn may_change(&self, viewer: u64, join: &Join) -> Result<(), Refusal> {
        match &self.editor {
            _ if join.read_only => Err(Refusal("this console is read-only".into())),
            Some((other, name)) if *other != viewer => Err(Refusal(format!(
                "{name} is editing; nothing changes until they leave or let go (E)"
            ))),
            _ => Ok(()),
        }
    }

    /// What a viewer sees of it.
    pub fn seen_by(&self, viewer: u64, join: &Join, viewers: usize) -> Audience {
        Audience {
            viewers,
            editor: self.editor.as_ref().map(|(_, name)| name.clone()),
            you_edit: self.may_change(viewer, join).is_ok(),
            attached: true,
            may_stay: false,
        }
    }
}
