//! Staging, comparing and applying: every change of serving takes this path. The requests of line
//! commands and of the demonstration are also built here.

use divisi_model::allocation::Matrix;
use divisi_model::ensemble::PolicyKind;
use divisi_session::{Command, LoadPattern, SearchState, Setup, SetupFile, Snapshot, Terms};

use super::follow_up::FollowUp;
use crate::commands::EDIT;
use crate::dialogs::{
    Compare, Confirm, ConfirmedAction, Dialog, Form, Picker, Purpose, Voters, WhatIfTable,
};
use crate::layout::Panel;
use crate::model::{Effect, Model, Setting};
use crate::view::SetupEdit;

/// Asks for the rule, the weights and the votes.
pub(super) fn combination(model: &Model) -> FollowUp {
    let setup = model.setup();
    let names = &setup.matrix.frame().members;
    Dialog::Voters(Voters::new(
        &setup.combination,
        names,
        model.snapshot.answers,
    ))
    .into()
}

/// Stages a setting with the other changes. Outside of editing it is compared at once.
pub(crate) fn stage(model: &mut Model, setting: Setting) -> FollowUp {
    let before = model.setup();
    let setup = setting.applied_to(&before);
    if setup == before {
        model.say("already set", false);
        return FollowUp::default();
    }
    match &mut model.edit {
        Some(edit) => {
            edit.stage(setup);
            model.say("staged: a compares and applies", false);
            FollowUp::default()
        }
        None => ask("change settings", setup),
    }
}

/// Stages a whole setup with the other changes, and shows the matrix being edited.
pub(crate) fn stage_setup(model: &mut Model, setup: Setup) {
    if let Err(why) = EDIT.check("stage a setup", &model.state()) {
        model.say(why.to_string(), true);
        return;
    }
    let running = model.snapshot.setup();
    let edit = model.edit.get_or_insert_with(|| SetupEdit::new(running));
    edit.stage(setup);
    model.focus = Panel::Allocation;
    model.say("staged: a compares and applies", false);
}

/// Asks what-if questions about the device and the member at the cursor.
pub(super) fn what_if(model: &Model) -> FollowUp {
    Dialog::WhatIf(Box::new(WhatIfTable::new(model))).into()
}

/// Shows the effects of undoing the last change, to undo it from there.
pub(super) fn undo() -> FollowUp {
    Dialog::Compare(Box::new(Compare::undo())).into()
}

/// Shows the effects of redoing the undone change, to redo it from there.
pub(super) fn redo() -> FollowUp {
    Dialog::Compare(Box::new(Compare::redo())).into()
}

/// Shows the effects of `setup`, to apply it from there.
pub(crate) fn ask(title: impl Into<String>, setup: Setup) -> FollowUp {
    let compare = Compare::new(title, setup.clone());
    FollowUp {
        dialog: Some(Dialog::Compare(Box::new(compare))),
        effects: vec![Effect::Preview(Box::new(setup))],
    }
}

/// Shows the effects of a matrix with the current settings.
fn ask_matrix(model: &Model, title: &'static str, matrix: Matrix) -> FollowUp {
    ask(title, model.snapshot.setup().with_matrix(matrix))
}

/// Compares the staged with the running setup.
pub(super) fn compare(model: &mut Model) -> FollowUp {
    // Applying the same matrix restarts retired workers.
    let retired = model.snapshot.entries.iter().any(|e| e.retired);
    if !model.has_staged() && !retired {
        model.say("no staged changes", false);
        return FollowUp::default();
    }
    ask("apply staged changes", model.setup())
}

/// Compares an earlier setup with the running one. While editing, it is also staged.
pub(crate) fn bring_back(model: &mut Model, number: u64, setup: Setup) -> FollowUp {
    if model.read_only {
        model.say("read-only: cannot restore a setup", true);
        return FollowUp::default();
    }
    if setup.matrix.frame() != model.snapshot.matrix.frame() {
        let text = format!("number {number} ran with other models: undo restores them");
        model.say(text, true);
        return FollowUp::default();
    }
    if setup == model.snapshot.setup() {
        model.say(format!("number {number} is the running setup"), false);
        return FollowUp::default();
    }
    if let Some(edit) = &mut model.edit {
        edit.stage(setup.clone());
    }
    ask(format!("restore number {number}"), setup)
}

/// Returns a question that `y` answers by sending a command to the session.
pub(super) fn asked_first(title: &'static str, text: &str, command: Command) -> FollowUp {
    let confirm = Confirm::new(title, text, ConfirmedAction::Send(command));
    Dialog::Confirm(confirm).into()
}

/// Asks for the kind of search.
pub(super) fn search(model: &Model) -> FollowUp {
    let kept = model.snapshot.search.as_ref().is_some_and(|s| s.cached);
    Dialog::Form(Form::search(kept)).into()
}

/// Pauses or resumes the search.
pub(super) fn pause(model: &Model) -> FollowUp {
    let state = model.snapshot.search.as_ref().map(|s| &s.state);
    let command = match state {
        Some(SearchState::Paused) => Command::ResumeSearch,
        _ => Command::PauseSearch,
    };
    command.into()
}

/// Compares the search's best matrix with the running one.
pub(super) fn apply_best(model: &mut Model) -> FollowUp {
    let Some(best) = best_matrix(&model.snapshot).cloned() else {
        return FollowUp::default();
    };
    if best == model.snapshot.matrix {
        model.say("the best matrix already runs", false);
        return FollowUp::default();
    }
    // The compared matrix is applied, even if a better one is found meanwhile.
    ask_matrix(model, "apply the best matrix", best)
}

/// Compares the proposed change, which relieves a slowed worker, with the running setup.
pub(super) fn apply_proposal(model: &mut Model) -> FollowUp {
    let Some(proposal) = &model.snapshot.proposal else {
        return FollowUp::default();
    };
    // The compared matrix is applied, even if another one is proposed meanwhile.
    let matrix = proposal.matrix.clone();
    ask_matrix(model, "apply the proposed move", matrix)
}

/// Asks for a file to read a setup from.
pub(super) fn open_file(model: &Model) -> FollowUp {
    pick(model, Purpose::Open)
}

/// Asks for a file to write the staged or running setup to.
pub(super) fn write_file(model: &Model) -> FollowUp {
    let setup = model.setup();
    let file = SetupFile::new(model.matrix_name(), &setup);
    pick(model, Purpose::Save(file.to_text()))
}

fn pick(model: &Model, purpose: Purpose) -> FollowUp {
    let name = format!("{}-setup.toml", model.snapshot.ensemble);
    let (picker, effect) = Picker::new(purpose, &name, &model.change);
    FollowUp {
        dialog: Some(Dialog::Picker(Box::new(picker))),
        effects: vec![effect],
    }
}

/// Returns the command for a setup, on probation if there are terms.
pub(crate) fn apply_setup(setup: Setup, terms: Option<Terms>) -> Command {
    Command::Apply(Box::new(setup), terms)
}

/// Returns the command for another matrix with the current settings.
pub(crate) fn apply_matrix(shown: &Snapshot, matrix: Matrix) -> Command {
    apply_setup(shown.setup().with_matrix(matrix), None)
}

/// Returns the command for another policy with the current matrix and settings.
pub(crate) fn apply_policy(shown: &Snapshot, policy: PolicyKind) -> Command {
    let setup = Setup {
        policy,
        ..shown.setup()
    };
    apply_setup(setup, None)
}

/// Returns the command for another load, or none.
pub(crate) fn set_load(pattern: Option<LoadPattern>) -> Command {
    pattern.map_or(Command::StopLoad, Command::StartLoad)
}

/// Returns the search's best matrix.
pub(crate) fn best_matrix(shown: &Snapshot) -> Option<&Matrix> {
    shown.search.as_ref()?.progress.best.as_ref()
}
