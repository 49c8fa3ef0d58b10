//! The actions of commands: on the screen they act on the model, as a line on the session.
//!
//! [`table`] finds the functions of a command. Screen functions take their subject from
//! the cursor or ask in a dialog; line functions read it from words ([`arguments`]). The requests
//! that both and the demonstration send to the session are built in [`mod@stage`].

mod arguments;
mod comparison;
mod edit;
mod follow_up;
mod lines;
mod panels;
pub(crate) mod requests;
mod session;
pub(crate) mod stage;
mod staged;
pub(crate) mod streams;
mod table;
pub(crate) mod time;

use divisi_session::Command;

use crate::commands::{Binding, CommandInfo, LineForm, NotNow, focused_by};
use crate::model::{Effect, Model};

pub(crate) use edit::arranged;
pub(crate) use follow_up::FollowUp;
pub(crate) use lines::{AskedLines, LineFront};
pub(crate) use panels::{configured, leave_alone, look_at, scroll};
pub(crate) use session::{hung_up, quit};
pub(crate) use stage::{ask, bring_back, stage, stage_setup};
pub(crate) use staged::StagedLines;

/// Runs a screen command, or shows why it cannot run now.
pub(crate) fn run(model: &mut Model, binding: &Binding) -> FollowUp {
    if let Err(reason) = model.check(binding) {
        model.say(reason.to_string(), true);
        return FollowUp::default();
    }
    if let Some(panel) = focused_by(binding.command) {
        model.focus = panel;
    }
    let does = table::on_screen(binding.command);
    does.map_or_else(FollowUp::default, |does| does(model))
}

/// Returns the effect that sends `asked`, a command of a demonstration, to the session.
///
/// # Errors
/// The command cannot run now.
pub(crate) fn give(
    model: &Model,
    command: &'static CommandInfo,
    asked: Command,
) -> Result<Effect, NotNow> {
    command.check(command.name, &model.state())?;
    Ok(Effect::Send(asked))
}

/// Runs a line and returns its answer.
///
/// # Errors
/// The command is unknown, its words are wrong, or it was refused.
pub(crate) fn say(front: &mut LineFront<'_>, line: &str) -> lines::Said {
    let words: Vec<&str> = line.trim_start_matches(':').split_whitespace().collect();
    let Some(first) = words.first() else {
        return Ok(Vec::new());
    };
    let (form, taken) = LineForm::named(&words).ok_or_else(|| lines::unknown(first))?;
    if form.command.changes && front.read_only {
        return Err(format!("read-only: cannot {}", form.command.name));
    }
    let Some(does) = table::as_line(form.command) else {
        return Ok(Vec::new());
    };
    does(front, lines::LineWords::new(form, &words[taken..]))
}
