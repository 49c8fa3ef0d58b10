//! Setups to files and from files.

use divisi::session::SetupFile;

use super::follow_up::FollowUp;
use crate::dialogs::{Dialog, Picker, Purpose};
use crate::model::Model;

/// Chooses a file to read a setup from.
pub fn open(model: &Model) -> FollowUp {
    pick(model, Purpose::Open)
}

/// Chooses a file to write what is staged, or runs, to.
pub fn write(model: &Model) -> FollowUp {
    let setup = model.setup();
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
