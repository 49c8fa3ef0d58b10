//! Setups to files and from files.

use std::path::{Path, PathBuf};

use divisi::session::{Setup, SetupFile};

use super::{FollowUp, stage};
use crate::console::change;
use crate::console::dialogs::{self, Dialog, Picker, Purpose};
use crate::console::edit::SetupEdit;
use crate::console::effect::Effect;
use crate::console::files::FolderListing;
use crate::console::model::{Model, Panel};

/// Chooses a file to read a setup from.
pub fn open(model: &Model) -> FollowUp {
    pick(model, Purpose::Open)
}

/// Chooses a file to write what is staged, or runs, to.
pub fn write(model: &Model) -> FollowUp {
    let setup = change::setup(model);
    let file = SetupFile::new(&model.snapshot.ensemble, &setup);
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

/// What is at the path that the picker asked about.
pub fn looked(model: &mut Model, looked: Result<FolderListing, String>) -> Vec<Effect> {
    let Some(picker) = dialogs::picker(model) else {
        return Vec::new();
    };
    let effect = picker.looked(looked);
    let (folder, hidden) = (picker.folder().cloned(), picker.shows_hidden());
    model.change.folder = folder.unwrap_or_else(|| model.change.folder.clone());
    model.change.hidden = hidden;
    effect.into_iter().collect()
}

/// The desktop's dialog has ended.
pub fn picked(model: &mut Model, picked: Result<Option<PathBuf>, String>) -> Vec<Effect> {
    let picker = dialogs::picker(model);
    picker.and_then(|p| p.picked(picked)).into_iter().collect()
}

/// A file was read: what it says is staged and compared, and never applied at once.
pub fn read(model: &mut Model, path: &Path, text: Result<String, String>) -> Vec<Effect> {
    let setup = text.and_then(|text| {
        let setup = parsed(model, &text);
        setup.map_err(|e| format!("{}: {e}", path.display()))
    });
    match setup {
        Ok(setup) => opened(model, path, setup),
        Err(why) => {
            fail(model, why);
            Vec::new()
        }
    }
}

fn parsed(model: &Model, text: &str) -> Result<Setup, String> {
    let file = SetupFile::parse(text).map_err(|e| e.to_string())?;
    // What the file does not say stays as it is staged.
    let setup = file.setup_for(&model.snapshot.ensemble, &change::setup(model));
    setup.map_err(|e| e.to_string())
}

fn opened(model: &mut Model, path: &Path, setup: Setup) -> Vec<Effect> {
    close(model);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if setup == model.snapshot.setup() && model.edit.is_none() {
        model.say(format!("{name} is what runs"), false);
        return Vec::new();
    }
    let running = model.snapshot.setup();
    let edit = model.edit.get_or_insert_with(|| SetupEdit::new(running));
    edit.stage(setup.clone());
    model.focus = Panel::Allocation;
    let compared = stage::ask(format!("apply {name}"), setup);
    super::open(model, compared)
}

/// A file was written, by the picker or somebody else.
pub fn wrote(model: &mut Model, wrote: Result<PathBuf, String>) {
    match wrote {
        Ok(path) => {
            close(model);
            model.say(format!("wrote {}", path.display()), false);
        }
        Err(why) => fail(model, why),
    }
}

fn close(model: &mut Model) {
    model.dialogs.retain(|d| !matches!(d, Dialog::Picker(_)));
}

/// Said where the file was chosen, or over the footer.
fn fail(model: &mut Model, why: String) {
    match dialogs::picker(model) {
        Some(picker) => picker.fail(why),
        None => model.say(why, true),
    }
}
