//! Staged, compared, applied: whatever changes how an ensemble is served goes this way. What
//! lines and the demonstration ask of the session is made here too.

use divisi_model::allocation::Matrix;
use divisi_model::ensemble::PolicyKind;
use divisi_session::{Command, LoadPattern, SearchState, Setup, SetupFile, Snapshot, Terms};

use super::follow_up::FollowUp;
use crate::dialogs::{
    Compare, Confirm, ConfirmedAction, Dialog, Form, HistoryDialog, Picker, Purpose, Voters,
};
use crate::model::{Effect, Model, Setting};

/// Asks for the batching policy.
pub(super) fn policy(model: &Model) -> FollowUp {
    Dialog::Form(Form::policy(model.setup().policy)).into()
}

/// Asks for the samples in a segment.
pub(super) fn segment_size(model: &Model) -> FollowUp {
    Dialog::Form(Form::segment_size(model.setup().segment_size)).into()
}

/// Asks for the service objective.
pub(super) fn target(model: &Model) -> FollowUp {
    Dialog::Form(Form::target(model.snapshot.target)).into()
}

/// Asks for the load.
pub(super) fn load(model: &Model) -> FollowUp {
    Dialog::Form(Form::load(model.snapshot.load.pattern.as_ref())).into()
}

/// Asks how much of which model is asked.
pub(super) fn mix(model: &Model) -> FollowUp {
    Dialog::Form(Form::mix(model.snapshot.load.mix.as_ref())).into()
}

/// Asks for the rule, the weights and who votes.
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

/// Shows what ran before.
pub(super) fn history() -> FollowUp {
    Dialog::History(HistoryDialog::default()).into()
}

/// Stages a setting with the rest; where nothing is being edited it is compared at once.
pub(crate) fn stage(model: &mut Model, setting: Setting) -> FollowUp {
    let before = model.setup();
    let setup = setting.of(&before);
    if setup == before {
        model.say("that is how it is already", false);
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

/// Shows what `setup` would change, to be applied from there.
pub(crate) fn ask(title: impl Into<String>, setup: Setup) -> FollowUp {
    let compare = Compare::new(title, setup.clone());
    FollowUp {
        dialog: Some(Dialog::Compare(Box::new(compare))),
        effects: vec![Effect::Preview(Box::new(setup))],
    }
}

/// The same of a matrix, the settings as they are.
fn ask_matrix(model: &Model, title: &'static str, matrix: Matrix) -> FollowUp {
    ask(title, model.snapshot.setup().with_matrix(matrix))
}

/// Compares what is staged with what runs.
pub(super) fn compare(model: &mut Model) -> FollowUp {
    // The same matrix brings retired workers back.
    let retired = model.snapshot.entries.iter().any(|e| e.retired);
    if !model.has_staged() && !retired {
        model.say("nothing is staged: all is as it runs", false);
        return FollowUp::default();
    }
    ask("apply staged changes", model.setup())
}

/// Compares a setup that ran with what runs; where something is being edited it is staged
/// too.
pub(crate) fn bring_back(model: &mut Model, number: u64, setup: Setup) -> FollowUp {
    if model.read_only {
        model.say("read-only: cannot bring back what ran", true);
        return FollowUp::default();
    }
    if setup.matrix.frame() != model.snapshot.matrix.frame() {
        let text = format!("number {number} ran with other models: undo brings those back");
        model.say(text, true);
        return FollowUp::default();
    }
    if setup == model.snapshot.setup() {
        model.say(format!("number {number} is what runs"), false);
        return FollowUp::default();
    }
    if let Some(edit) = &mut model.edit {
        edit.stage(setup.clone());
    }
    ask(format!("bring back number {number}"), setup)
}

/// A question that `y` answers with a command to the session.
fn asked_first(title: &'static str, text: &str, command: Command) -> FollowUp {
    let confirm = Confirm::new(title, text, ConfirmedAction::Send(command));
    Dialog::Confirm(confirm).into()
}

/// Asks whether to undo.
pub(super) fn undo() -> FollowUp {
    let text = "Bring back what ran before the last change, matrix and settings?";
    asked_first("undo", text, Command::Undo)
}

/// Asks whether to redo.
pub(super) fn redo() -> FollowUp {
    let text = "Run again what the last undo took back?";
    asked_first("redo", text, Command::Redo)
}

/// Asks whether to keep what is on probation.
pub(super) fn keep() -> FollowUp {
    let text = "Keep what was applied, without watching it any longer?";
    asked_first(
        "keep what is on probation",
        text,
        Command::EndProbation(true),
    )
}

/// Asks whether to roll back what is on probation.
pub(super) fn roll_back() -> FollowUp {
    let text = "Roll back what is on probation? What ran before it comes back.";
    asked_first("roll back", text, Command::EndProbation(false))
}

/// Asks which search to begin.
pub(super) fn search() -> FollowUp {
    Dialog::Form(Form::search()).into()
}

/// Holds the search, or lets it go on.
pub(super) fn pause(model: &Model) -> FollowUp {
    let state = model.snapshot.search.as_ref().map(|s| &s.state);
    let command = match state {
        Some(SearchState::Paused) => Command::ResumeSearch,
        _ => Command::PauseSearch,
    };
    command.into()
}

/// Compares the best matrix that was found with what runs.
pub(super) fn apply_best(model: &mut Model) -> FollowUp {
    let Some(best) = best_matrix(&model.snapshot).cloned() else {
        return FollowUp::default();
    };
    if best == model.snapshot.matrix {
        model.say("the best matrix found is running already", false);
        return FollowUp::default();
    }
    // The matrix that is compared, not a better one found meanwhile.
    ask_matrix(model, "apply the best found", best)
}

/// Compares the change that relieves an interfered worker with what runs.
pub(super) fn apply_proposal(model: &mut Model) -> FollowUp {
    let Some(proposal) = &model.snapshot.proposal else {
        return FollowUp::default();
    };
    // The matrix that is compared: another may be proposed meanwhile.
    let matrix = proposal.matrix.clone();
    ask_matrix(model, "apply the proposed move", matrix)
}

/// Chooses a file to read a setup from.
pub(super) fn open_file(model: &Model) -> FollowUp {
    pick(model, Purpose::Open)
}

/// Chooses a file to write what is staged, or runs, to.
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

/// Asks for a setup, on probation where there are terms.
pub(crate) fn apply_setup(setup: Setup, terms: Option<Terms>) -> Command {
    Command::Apply(Box::new(setup), terms)
}

/// Asks for another matrix, all settings as they are.
pub(crate) fn apply_matrix(shown: &Snapshot, matrix: Matrix) -> Command {
    apply_setup(shown.setup().with_matrix(matrix), None)
}

/// Asks for another policy, all else as it is.
pub(crate) fn apply_policy(shown: &Snapshot, policy: PolicyKind) -> Command {
    let setup = Setup {
        policy,
        ..shown.setup()
    };
    apply_setup(setup, None)
}

/// Asks for another load, or none.
pub(crate) fn set_load(pattern: Option<LoadPattern>) -> Command {
    pattern.map_or(Command::StopLoad, Command::StartLoad)
}

/// Returns the best matrix that the search has found.
pub(crate) fn best_matrix(shown: &Snapshot) -> Option<&Matrix> {
    shown.search.as_ref()?.progress.best.as_ref()
}
