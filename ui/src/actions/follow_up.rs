//! The follow-up of a screen command: a dialog or effects.

use divisi_session::Command;

use crate::dialogs::Dialog;
use crate::model::Effect;

/// The follow-up of a screen command.
#[derive(Debug, Default)]
pub(crate) struct FollowUp {
    /// A dialog to open.
    pub dialog: Option<Dialog>,
    /// The effects outside of the model.
    pub effects: Vec<Effect>,
}

impl From<()> for FollowUp {
    fn from((): ()) -> Self {
        FollowUp::default()
    }
}

impl From<Dialog> for FollowUp {
    fn from(dialog: Dialog) -> Self {
        FollowUp {
            dialog: Some(dialog),
            effects: Vec::new(),
        }
    }
}

impl From<Option<Dialog>> for FollowUp {
    fn from(dialog: Option<Dialog>) -> Self {
        FollowUp {
            dialog,
            effects: Vec::new(),
        }
    }
}

impl From<Vec<Effect>> for FollowUp {
    fn from(effects: Vec<Effect>) -> Self {
        FollowUp {
            dialog: None,
            effects,
        }
    }
}

impl From<Effect> for FollowUp {
    fn from(effect: Effect) -> Self {
        vec![effect].into()
    }
}

impl From<Command> for FollowUp {
    fn from(command: Command) -> Self {
        Effect::Send(command).into()
    }
}
