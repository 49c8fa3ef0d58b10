//! Why a command cannot be done just now.

use super::{Entry, Id};
use crate::console::actions;
use crate::console::model::Model;

impl Entry {
    /// Why it cannot be done now.
    pub fn refusal(&self, model: &Model) -> Option<String> {
        let shown = &model.snapshot;
        if self.changes && model.read_only {
            return Some(format!("read-only: cannot {}", self.title));
        }
        if self.changes && shown.playback.is_some() {
            return Some(format!("this is a recording: cannot {}", self.title));
        }
        if let (true, Some(editor)) = (self.changes, other_editor(model)) {
            let title = self.title;
            return Some(format!("{editor} edits: cannot {title} until they let go"));
        }
        let reason = match self.id {
            Id::TakeEditing if !shown.audience.attached => "nobody else can change anything here",
            Id::TakeEditing if model.read_only => "read-only: cannot edit",
            Id::Undo if !shown.can_undo => "nothing to undo",
            Id::Redo if !shown.can_redo => "nothing to redo",
            Id::Pause | Id::Cancel if !model.searching() => "no search is running",
            Id::ApplyBest if model.best().is_none() => "no search has found a matrix yet",
            Id::ApplyProposal if shown.proposal.is_none() => {
                "nothing is proposed: no worker is so much slower than its profile"
            }
            Id::Vote if is_last_voter(model) => {
                "the last member that votes stays: an ensemble needs one"
            }
            Id::Keep | Id::RollBack if !actions::is_on_probation(model) => {
                "nothing is on probation"
            }
            id => return device_refusal(id, model),
        };
        Some(reason.to_owned())
    }
}

/// Who may change things in our place.
fn other_editor(model: &Model) -> Option<&str> {
    let audience = &model.snapshot.audience;
    let editor = audience.editor.as_deref();
    editor.filter(|_| audience.attached && !audience.you_edit)
}

/// Nobody would be left to vote without the member under the cursor.
fn is_last_voter(model: &Model) -> bool {
    let voting = &model.snapshot.combination.voting;
    let votes = voting.get(model.cursor.member).copied().unwrap_or(false);
    votes && voting.iter().filter(|v| **v).count() < 2
}

/// Why the device under the cursor cannot have that done to it.
fn device_refusal(id: Id, model: &Model) -> Option<String> {
    if !matches!(id, Id::LoseDevice | Id::RegainDevice | Id::SlowDevice) {
        return None;
    }
    let view = model.snapshot.devices.get(model.cursor.device)?;
    let reason = match id {
        Id::RegainDevice if view.lost => return None,
        _ if !view.has_faults_on_demand() => "is part of this machine; only simulated devices can",
        Id::LoseDevice if view.lost => "is lost already",
        Id::SlowDevice if view.lost => "is lost",
        Id::RegainDevice if !view.lost => "is not lost",
        _ => return None,
    };
    Some(format!("{} {reason}", view.name))
}
