//! The dialogs: passes keys to the top dialog and carries its replies out; passes the answers of
//! files and of the desktop on.

use std::path::{Path, PathBuf};

use anyhow::{Error, anyhow};
use crossterm::event::KeyEvent;
use divisi_session::{Command, Setup, SetupFile, Terms};

use super::state::ConsoleState;
use crate::actions;
use crate::dialogs::{Dialog, DialogReply, Form};
use crate::files::FolderListing;
use crate::layout::Panel;
use crate::model::{Effect, Model};
use crate::view::SetupEdit;

/// Passes the key to the top dialog. Returns `None` if no dialog uses it.
pub(super) fn on_key(state: &mut ConsoleState, key: &KeyEvent) -> Option<Vec<Effect>> {
    let mut dialog = state.dialogs.pop()?;
    let refusal = state.consent.refusal();
    let before = refusal.is_some().then(|| dialog.clone());
    let reply = dialog.body_mut().on_key(key, &mut state.model);
    if let (Some(why), Some(before), true) = (refusal, before, reply.does_something()) {
        state.dialogs.push(before);
        state.model.say(why, true);
        return Some(Vec::new());
    }
    follow(state, dialog, reply)
}

fn follow(state: &mut ConsoleState, dialog: Dialog, reply: DialogReply) -> Option<Vec<Effect>> {
    let model = &mut state.model;
    match reply {
        DialogReply::Stay => state.dialogs.push(dialog),
        DialogReply::Close => {}
        DialogReply::Pass => return None,
        DialogReply::Send(Command::Apply(..)) if model.settings.config.on_probation => {
            ask_terms(state, dialog);
        }
        DialogReply::Send(command) => return Some(vec![Effect::Send(command)]),
        DialogReply::Run(binding) => return Some(state.run(binding)),
        DialogReply::Stage(setting) => {
            let staged = actions::stage(model, setting);
            return Some(state.follow(staged));
        }
        DialogReply::StageSetup(setup) => actions::stage_setup(model, *setup),
        DialogReply::Apply(terms) => return Some(on_probation(state, terms)),
        DialogReply::BringBack { number, setup } => {
            let compared = actions::bring_back(model, number, *setup);
            state.dialogs.push(dialog);
            return Some(state.follow(compared));
        }
        DialogReply::SaveLayout(name) => {
            let layout = model.arrangement.named(&name);
            return Some(vec![Effect::SaveLayout(layout)]);
        }
        DialogReply::AskTerms => ask_terms(state, dialog),
        DialogReply::Ask(effect) => {
            state.dialogs.push(dialog);
            return Some(vec![effect]);
        }
        DialogReply::ExportTrace => return Some(vec![actions::streams::trace_file(model)]),
        DialogReply::DropEdit => model.edit = None,
        DialogReply::Quit => return Some(vec![Effect::Quit]),
    }
    Some(Vec::new())
}

/// Asks for the terms of a probation for the compared setup.
fn ask_terms(state: &mut ConsoleState, compare: Dialog) {
    state.dialogs.push(compare);
    let form = Form::terms(&state.model.change.terms);
    state.dialogs.push(Dialog::Form(form));
}

/// Applies the compared setup on probation. It is rolled back if it violates the terms.
fn on_probation(state: &ConsoleState, terms: Terms) -> Vec<Effect> {
    let compared = state.dialogs.last().and_then(|d| d.body().compared());
    let apply = compared.map(|setup| {
        let setup = Box::new(setup.clone());
        Effect::Send(Command::Apply(setup, Some(terms)))
    });
    apply.into_iter().collect()
}

/// Passes the requested listing to the picker, and remembers the folder.
pub(super) fn looked(
    state: &mut ConsoleState,
    looked: Result<FolderListing, String>,
) -> Vec<Effect> {
    let Some(picker) = state.picker() else {
        return Vec::new();
    };
    let effect = picker.looked(looked);
    let (folder, hidden) = (picker.folder().cloned(), picker.shows_hidden());
    let change = &mut state.model.change;
    change.folder = folder.unwrap_or_else(|| change.folder.clone());
    change.hidden = hidden;
    effect.into_iter().collect()
}

/// Handles the end of the desktop's dialog.
pub(super) fn picked(
    state: &mut ConsoleState,
    picked: Result<Option<PathBuf>, String>,
) -> Vec<Effect> {
    let picker = state.picker();
    picker.and_then(|p| p.picked(picked)).into_iter().collect()
}

/// Handles a file that was read: its setup is staged and compared, never applied at once.
pub(super) fn read(
    state: &mut ConsoleState,
    path: &Path,
    text: Result<String, String>,
) -> Vec<Effect> {
    let setup = text.map_err(Error::msg).and_then(|text| {
        let setup = parsed(&state.model, &text);
        setup.map_err(|e| anyhow!("{}: {e}", path.display()))
    });
    match setup {
        Ok(setup) => opened(state, path, setup),
        Err(why) => {
            fail(state, why.to_string());
            Vec::new()
        }
    }
}

fn parsed(model: &Model, text: &str) -> anyhow::Result<Setup> {
    let file = SetupFile::parse(text).map_err(Error::msg)?;
    // Settings that the file omits stay as staged.
    let setup = file.setup_for(model.matrix_name(), &model.setup());
    setup.map_err(Error::msg)
}

fn opened(state: &mut ConsoleState, path: &Path, setup: Setup) -> Vec<Effect> {
    close(state);
    let model = &mut state.model;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if setup == model.snapshot.setup() && model.edit.is_none() {
        model.say(format!("{name} is the running setup"), false);
        return Vec::new();
    }
    let running = model.snapshot.setup();
    let edit = model.edit.get_or_insert_with(|| SetupEdit::new(running));
    edit.stage(setup.clone());
    model.focus = Panel::Allocation;
    state.follow(actions::ask(format!("apply {name}"), setup))
}

/// Handles a written file, of the picker or of another writer.
pub(super) fn wrote(state: &mut ConsoleState, wrote: Result<PathBuf, String>) {
    match wrote {
        Ok(path) => {
            close(state);
            state.model.say(format!("wrote {}", path.display()), false);
        }
        Err(why) => fail(state, why),
    }
}

fn close(state: &mut ConsoleState) {
    state.dialogs.retain(|d| !matches!(d, Dialog::Picker(_)));
}

/// Shows an error in the picker, or else over the footer.
fn fail(state: &mut ConsoleState, why: String) {
    match state.picker() {
        Some(picker) => picker.fail(why),
        None => state.model.say(why, true),
    }
}
