//! What lies over the panels. The dialog on top has all keys.

mod choices;
mod combination;
mod compare;
mod confirm;
mod field;
mod forms;
mod help;
mod history;
mod leave;
mod palette;
mod panels;
mod picker;
mod reload;
mod themes;

pub use combination::Voters;
pub use compare::Compare;
pub use confirm::{Confirm, Then};
pub use field::{one_line, pasted};
pub use forms::Form;
pub use help::Help;
pub use history::HistoryDialog;
pub use leave::LeaveDialog;
pub use palette::Palette;
pub use panels::PanelList;
pub use picker::{Picker, Purpose};
pub use themes::Themes;

use std::mem::{Discriminant, discriminant};

use crossterm::event::{KeyCode, KeyEvent};
use divisi::session::{Command, EditPreview, ReloadView, Setup, Terms};

use super::actions;
use super::change::Setting;
use super::commands::Binding;
use super::effect::Effect;
use super::model::Model;
use super::painter::Painter;

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
    /// What becomes of the engine.
    Leave(LeaveDialog),
    /// Load, policy, search or a device, with their numbers.
    Form(Form),
    /// How things look.
    Themes(Themes),
    /// The combination rule, weights and votes.
    Voters(Voters),
    /// What ran when.
    History(HistoryDialog),
    /// A file to read or write.
    Picker(Box<Picker>),
    /// The steps of a reload.
    Reload {
        /// The reload shown before this one was asked for.
        before: Option<ReloadView>,
    },
}

impl Dialog {
    /// It speaks of devices and members, or changes what they do.
    pub fn is_of_frame(&self) -> bool {
        matches!(
            self,
            Dialog::Compare(_) | Dialog::Confirm(_) | Dialog::Form(_) | Dialog::Voters(_)
        )
    }

    /// The key that ends the program, where that is what it asks.
    pub fn leaves_by(&self) -> Option<char> {
        match self {
            Dialog::Leave(_) => Some('s'),
            Dialog::Confirm(confirm) => confirm.quits().then_some('y'),
            _ => None,
        }
    }

    /// Pasted text goes into the field that has the keys; false where there is none, or
    /// none that takes such text.
    pub fn on_paste(&mut self, line: &str) -> bool {
        match self {
            Dialog::Help(help) => help.on_paste(line),
            Dialog::Palette(palette) => palette.on_paste(line),
            Dialog::Form(form) => form.on_paste(line),
            Dialog::Voters(voters) => voters.on_paste(line),
            Dialog::Picker(picker) => picker.on_paste(line),
            _ => false,
        }
    }

    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply {
        match self {
            Dialog::Help(help) => help.on_key(key),
            Dialog::Palette(palette) => palette.on_key(key, model),
            Dialog::Panels(list) => list.on_key(key, model),
            Dialog::Compare(compare) => compare.on_key(key),
            Dialog::Confirm(confirm) => confirm.on_key(key),
            Dialog::Leave(leave) => leave.on_key(key),
            Dialog::Form(form) => form.on_key(key),
            Dialog::Themes(themes) => themes.on_key(key, model),
            Dialog::Voters(voters) => voters.on_key(key),
            Dialog::History(history) => history.on_key(key, model),
            Dialog::Picker(picker) => picker.on_key(key),
            Dialog::Reload { .. } if key.code == KeyCode::Esc => DialogReply::Close,
            Dialog::Reload { .. } => DialogReply::Pass,
        }
    }
}

/// What a dialog makes of a key.
#[derive(Clone, Debug)]
pub enum DialogReply {
    /// It stays open.
    Stay,
    /// It closes.
    Close,
    /// It closes, and the key goes to what is below.
    Pass,
    /// It closes, and a command goes to the session.
    Send(Command),
    /// It closes, and a command of the console runs.
    Run(&'static Binding),
    /// It closes, and a setting is staged, or compared where nothing is being edited.
    Stage(Setting),
    /// It stays, and asks for the terms of a probation.
    Guard,
    /// It closes, and the comparison below is applied on these terms.
    Apply(Terms),
    /// It closes, and a setup that ran is compared with what runs.
    BringBack {
        /// Its number in the history.
        number: u64,
        /// All of it.
        setup: Box<Setup>,
    },
    /// It closes, and what is shown is saved as a layout of this name.
    SaveLayout(String),
    /// It stays and wants something done.
    Ask(Effect),
    /// Staged changes are dropped.
    DropEdit,
    /// The program ends.
    Quit,
}

impl DialogReply {
    /// It ends, changes or writes something, and does not only show or ask.
    fn does_something(&self) -> bool {
        match self {
            DialogReply::Send(_)
            | DialogReply::Stage(_)
            | DialogReply::Apply(_)
            | DialogReply::SaveLayout(_)
            | DialogReply::DropEdit
            | DialogReply::Quit => true,
            DialogReply::Ask(effect) => matches!(effect, Effect::Write { .. } | Effect::Look(_)),
            DialogReply::Stay
            | DialogReply::Close
            | DialogReply::Pass
            | DialogReply::Run(_)
            | DialogReply::Guard
            | DialogReply::BringBack { .. } => false,
        }
    }
}

/// Gives the key to the dialog on top; `None` where there is none that wants it.
pub fn on_key(model: &mut Model, key: &KeyEvent) -> Option<Vec<Effect>> {
    let mut dialog = model.dialogs.pop()?;
    let refusal = model.consent.refusal();
    let before = refusal.is_some().then(|| dialog.clone());
    let answer = dialog.on_key(key, model);
    if let (Some(why), Some(before), true) = (refusal, before, answer.does_something()) {
        model.dialogs.push(before);
        model.say(why, true);
        return Some(Vec::new());
    }
    follow(model, dialog, answer)
}

/// How many dialogs there are, and of which kind the one on top is.
pub fn top(model: &Model) -> (usize, Option<Discriminant<Dialog>>) {
    (model.dialogs.len(), model.dialogs.last().map(discriminant))
}

fn follow(model: &mut Model, dialog: Dialog, answer: DialogReply) -> Option<Vec<Effect>> {
    match answer {
        DialogReply::Stay => model.dialogs.push(dialog),
        DialogReply::Close => {}
        DialogReply::Pass => return None,
        DialogReply::Send(Command::Apply(..)) if model.settings.config.on_probation => {
            guard(model, dialog);
        }
        DialogReply::Send(command) => return Some(vec![Effect::Send(command)]),
        DialogReply::Run(binding) => return Some(actions::run(model, binding)),
        DialogReply::Stage(setting) => {
            let staged = actions::stage(model, setting);
            return Some(actions::open(model, staged));
        }
        DialogReply::Apply(terms) => return Some(guarded(model, terms)),
        DialogReply::BringBack { number, setup } => {
            model.dialogs.push(dialog);
            let compared = actions::bring_back(model, number, *setup);
            return Some(actions::open(model, compared));
        }
        DialogReply::SaveLayout(name) => {
            let layout = model.arrangement.named(&name);
            return Some(vec![Effect::SaveLayout(layout)]);
        }
        DialogReply::Guard => guard(model, dialog),
        DialogReply::Ask(effect) => {
            model.dialogs.push(dialog);
            return Some(vec![effect]);
        }
        DialogReply::DropEdit => model.edit = None,
        DialogReply::Quit => return Some(vec![Effect::Quit]),
    }
    Some(Vec::new())
}

/// Asks on what terms what is compared is applied.
fn guard(model: &mut Model, compare: Dialog) {
    model.dialogs.push(compare);
    let form = Form::terms(&model.change.terms);
    model.dialogs.push(Dialog::Form(form));
}

/// What is compared is applied, to come back where the terms are not kept.
fn guarded(model: &Model, terms: Terms) -> Vec<Effect> {
    match model.dialogs.last() {
        Some(Dialog::Compare(compare)) => {
            let setup = Box::new(compare.setup.clone());
            vec![Effect::Send(Command::Apply(setup, Some(terms)))]
        }
        _ => Vec::new(),
    }
}

/// A preview has come for whatever asked about this setup; nobody else is told.
pub fn previewed(model: &mut Model, about: &Setup, preview: &Result<EditPreview, String>) {
    for dialog in &mut model.dialogs {
        if let Dialog::Compare(compare) = dialog
            && compare.setup == *about
        {
            compare.preview = Some(preview.clone());
        }
    }
}

/// The picker, where it is open.
pub fn picker(model: &mut Model) -> Option<&mut Picker> {
    model.dialogs.iter_mut().rev().find_map(|d| match d {
        Dialog::Picker(picker) => Some(picker.as_mut()),
        _ => None,
    })
}

/// Draws all of them, the last on top.
pub fn draw(pen: &mut Painter<'_>, model: &Model) {
    for dialog in &model.dialogs {
        match dialog {
            Dialog::Help(help) => help.draw(pen, model),
            Dialog::Palette(palette) => palette.draw(pen, model),
            Dialog::Panels(list) => list.draw(pen, model),
            Dialog::Compare(compare) => compare.draw(pen, model),
            Dialog::Confirm(confirm) => confirm.draw(pen),
            Dialog::Leave(leave) => leave.draw(pen),
            Dialog::Form(form) => form.draw(pen),
            Dialog::Themes(themes) => themes.draw(pen, model),
            Dialog::Voters(voters) => voters.draw(pen),
            Dialog::History(history) => history.draw(pen, model),
            Dialog::Picker(picker) => picker.draw(pen),
            Dialog::Reload { before } => reload::draw(pen, model, before.as_ref()),
        }
    }
}
