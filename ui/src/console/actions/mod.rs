//! What commands do: on the screen to the model, as a line to the session.
//!
//! [`table`] pairs every command with its two functions. Those of the screen take what
//! they are done to from the cursor or ask in a dialog; those of lines read it from words
//! ([`arguments`]). What both ask of the session is made in [`requests`].

mod arguments;
mod demo;
mod devices;
mod edit;
mod files;
mod lines;
mod looks;
mod panels;
mod requests;
mod search;
mod session;
mod stage;
pub mod streams;
mod table;

pub use edit::arranged;
pub use files::{looked, picked, read, wrote};
pub use lines::{LineError, LineFront};
pub use looks::configured;
pub use panels::{leave_alone, look_at, scroll, settle};
pub use session::{hung_up, interrupt};
pub use stage::{bring_back, stage};

use divisi::session::Command;

use super::commands::{Binding, LineForm};
use super::dialogs::Dialog;
use super::effect::Effect;
use super::model::Model;

/// What a command of the screen leaves to be done.
#[derive(Debug, Default)]
pub struct FollowUp {
    /// A dialog to open.
    pub dialog: Option<Dialog>,
    /// What is wanted outside of the model.
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

/// Does a command of the screen, or says why it cannot be done.
pub fn run(model: &mut Model, binding: &Binding) -> Vec<Effect> {
    if let Err(reason) = model.check(binding) {
        model.say(reason.to_string(), true);
        return Vec::new();
    }
    let Some(does) = table::screen(binding.command) else {
        return Vec::new();
    };
    let next = does(model);
    open(model, next)
}

/// Opens the dialog of a command; returns the effects that are left.
pub fn open(model: &mut Model, next: FollowUp) -> Vec<Effect> {
    model.dialogs.extend(next.dialog);
    next.effects
}

/// Does what a line says; returns what to answer.
///
/// # Errors
/// No command is called so, its words are not as expected, or it was refused.
pub fn say(front: &mut LineFront<'_>, line: &str) -> Result<Vec<String>, LineError> {
    let words: Vec<&str> = line.trim_start_matches(':').split_whitespace().collect();
    let Some(first) = words.first() else {
        return Ok(Vec::new());
    };
    let (form, taken) = LineForm::named(&words).ok_or_else(|| LineError::unknown(first))?;
    if form.command.changes && front.read_only {
        return Err(LineError::ReadOnly(form.command.name));
    }
    let Some(does) = table::line(form.command) else {
        return Ok(Vec::new());
    };
    does(front, lines::LineWords::new(form, &words[taken..]))
}
