//! What lies over the panels. The dialog on top has all keys.

mod choices;
mod compare;
mod confirm;
mod field;
mod forms;
mod help;
mod palette;
mod panels;
mod reload;
mod themes;

pub use compare::Compare;
pub use confirm::{Confirm, Then};
pub use forms::Form;
pub use help::Help;
pub use palette::Palette;
pub use panels::PanelList;
pub use themes::Themes;

use crossterm::event::{KeyCode, KeyEvent};
use divisi::session::{Command, EditPreview, ReloadView};

use super::commands::Id;
use super::effect::Effect;
use super::model::Model;
use super::pen::Pen;
use super::update;

/// One dialog with its state.
#[derive(Clone, Debug)]
pub enum Dialog {
    /// All commands, to be searched.
    Help(Help),
    /// A command by a part of its name.
    Palette(Palette),
    /// What a matrix would change.
    Compare(Box<Compare>),
    /// Yes or no.
    Confirm(Confirm),
    /// The panels that are shown, and the others.
    Panels(PanelList),
    /// Load, policy, search or a device, with their numbers.
    Form(Form),
    /// How things look.
    Themes(Themes),
    /// The steps of a reload.
    Reload {
        /// The reload shown before this one was asked for.
        before: Option<ReloadView>,
    },
}

/// What a dialog makes of a key.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It stays open.
    Stay,
    /// It closes.
    Close,
    /// It closes, and the key goes to what is below.
    Pass,
    /// It closes, and a command goes to the session.
    Send(Command),
    /// It closes, and a command of the console runs.
    Run(Id),
    /// Staged changes are dropped.
    DropEdit,
    /// The program ends.
    Quit,
}

/// Gives the key to the dialog on top; `None` where there is none that wants it.
pub fn on_key(model: &mut Model, key: &KeyEvent) -> Option<Vec<Effect>> {
    let mut dialog = model.dialogs.pop()?;
    let answer = match &mut dialog {
        Dialog::Help(help) => help.on_key(key),
        Dialog::Palette(palette) => palette.on_key(key, model),
        Dialog::Panels(list) => list.on_key(key, model),
        Dialog::Compare(compare) => compare.on_key(key),
        Dialog::Confirm(confirm) => confirm.on_key(key),
        Dialog::Form(form) => form.on_key(key),
        Dialog::Themes(themes) => themes.on_key(key, model),
        Dialog::Reload { .. } if key.code == KeyCode::Esc => Answer::Close,
        Dialog::Reload { .. } => Answer::Pass,
    };
    follow(model, dialog, answer)
}

fn follow(model: &mut Model, dialog: Dialog, answer: Answer) -> Option<Vec<Effect>> {
    match answer {
        Answer::Stay => model.dialogs.push(dialog),
        Answer::Close => {}
        Answer::Pass => return None,
        Answer::Send(command) => return Some(vec![Effect::Send(command)]),
        Answer::Run(id) => return Some(update::run(model, id)),
        Answer::DropEdit => model.edit = None,
        Answer::Quit => return Some(vec![Effect::Quit]),
    }
    Some(Vec::new())
}

/// A preview has come for the comparison that asked for it.
pub fn previewed(model: &mut Model, preview: Result<EditPreview, String>) {
    for dialog in model.dialogs.iter_mut().rev() {
        if let Dialog::Compare(compare) = dialog {
            compare.preview = Some(preview);
            return;
        }
    }
}

/// Draws all of them, the last on top.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    for dialog in &model.dialogs {
        match dialog {
            Dialog::Help(help) => help.draw(pen, model),
            Dialog::Palette(palette) => palette.draw(pen, model),
            Dialog::Panels(list) => list.draw(pen, model),
            Dialog::Compare(compare) => compare.draw(pen, model),
            Dialog::Confirm(confirm) => confirm.draw(pen),
            Dialog::Form(form) => form.draw(pen),
            Dialog::Themes(themes) => themes.draw(pen, model),
            Dialog::Reload { before } => reload::draw(pen, model, before.as_ref()),
        }
    }
}
