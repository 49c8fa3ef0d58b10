//! Staged, compared, applied: whatever changes how an ensemble is served goes this way.

use divisi::allocation::Matrix;
use divisi::session::{Command, ProbationState, Setup};

use crate::console::change::{self, Setting};
use crate::console::commands::Id;
use crate::console::dialogs::{Compare, Confirm, Dialog, Form, HistoryDialog, Then, Voters};
use crate::console::effect::Effect;
use crate::console::model::Model;

/// Opens the dialog in which a part of the setup is changed, or what ran before.
pub fn open(model: &mut Model, id: Id) {
    let setup = change::setup(model);
    let dialog = match id {
        Id::Policy => Dialog::Form(Form::policy(setup.policy)),
        Id::SegmentSize => Dialog::Form(Form::segment_size(setup.segment_size)),
        Id::Target => Dialog::Form(Form::target(model.snapshot.target)),
        Id::Combination => {
            let names = &setup.matrix.frame().members;
            Dialog::Voters(Voters::new(&setup.combination, names))
        }
        _ => Dialog::History(HistoryDialog::default()),
    };
    model.dialogs.push(dialog);
}

/// A setting joins what is staged; where nothing is being edited it is compared at once.
pub fn stage(model: &mut Model, setting: Setting) -> Vec<Effect> {
    let before = change::setup(model);
    let setup = setting.of(&before);
    if setup == before {
        model.say("that is how it is already", false);
        return Vec::new();
    }
    match &mut model.edit {
        Some(edit) => {
            edit.stage(setup);
            model.say("staged: a compares and applies", false);
            Vec::new()
        }
        None => ask(model, "change settings", setup),
    }
}

/// Shows what `setup` would change, to be applied from there.
pub fn ask(model: &mut Model, title: impl Into<String>, setup: Setup) -> Vec<Effect> {
    let compare = Compare::new(title, setup.clone());
    model.dialogs.push(Dialog::Compare(Box::new(compare)));
    vec![Effect::Preview(Box::new(setup))]
}

/// The same of a matrix, the settings as they are.
pub fn ask_matrix(model: &mut Model, title: &'static str, matrix: Matrix) -> Vec<Effect> {
    let setup = model.snapshot.setup().with_matrix(matrix);
    ask(model, title, setup)
}

/// What is staged against what runs.
pub fn compare(model: &mut Model) -> Vec<Effect> {
    // The same matrix brings retired workers back.
    let retired = model.snapshot.entries.iter().any(|e| e.retired);
    if !model.has_staged() && !retired {
        model.say("nothing is staged: all is as it runs", false);
        return Vec::new();
    }
    let staged = change::setup(model);
    ask(model, "apply staged changes", staged)
}

/// A setup that ran, to run again; where something is being edited it is staged too.
pub fn bring_back(model: &mut Model, number: u64, setup: Setup) -> Vec<Effect> {
    if model.read_only {
        model.say("read-only: cannot bring back what ran", true);
        return Vec::new();
    }
    if setup == model.snapshot.setup() {
        model.say(format!("number {number} is what runs"), false);
        return Vec::new();
    }
    if let Some(edit) = &mut model.edit {
        edit.stage(setup.clone());
    }
    ask(model, format!("bring back number {number}"), setup)
}

/// Asks before a probation is ended.
pub fn end_probation(model: &mut Model, keep: bool) {
    let (title, text) = match keep {
        true => (
            "keep what is on probation",
            "Keep what was applied, without watching it any longer?",
        ),
        false => (
            "roll back",
            "Roll back what is on probation? What ran before it comes back.",
        ),
    };
    let then = Then::Send(Command::EndProbation(keep));
    model
        .dialogs
        .push(Dialog::Confirm(Confirm::new(title, text, then)));
}

/// Something has to prove itself just now.
pub fn is_on_probation(model: &Model) -> bool {
    let state = model.snapshot.probation.as_ref().map(|p| &p.state);
    state == Some(&ProbationState::Watching)
}
