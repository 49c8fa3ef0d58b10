//! The dialogs over the panels, as one list and one trait. The top dialog receives all keys.
//!
//! A dialog is confirmed with another key than the key that opened it, and only after it was drawn.
//! So a repeated key confirms nothing.

mod apply;
mod choices;
mod combination;
mod commands;
mod confirm;
mod field;
mod forms;
mod history;
mod model_plan;
mod picker;
mod screen;

pub(crate) use apply::{Compare, ReloadSteps};
pub(crate) use combination::Voters;
pub(crate) use commands::{Help, Palette};
pub(crate) use confirm::{Confirm, ConfirmedAction, LeaveDialog};
pub(crate) use field::{one_line, pasted};
pub(crate) use forms::Form;
pub(crate) use history::HistoryDialog;
pub(crate) use model_plan::ModelPlan;
pub(crate) use picker::{Picker, Purpose};
pub(crate) use screen::{PanelList, Themes};

use crossterm::event::KeyEvent;
use divisi_session::{Command, EditPreview, Refusal, Setup, Terms};

use crate::commands::Binding;
use crate::look::Painter;
use crate::model::{Effect, Model, Setting};

/// One dialog with its state.
#[derive(Clone, Debug)]
pub enum Dialog {
    /// All commands, to be searched.
    Help(Help),
    /// A command by a part of its name.
    Palette(Palette),
    /// The changes that a setup would make.
    Compare(Box<Compare>),
    /// Yes or no.
    Confirm(Confirm),
    /// The panels that are shown, and the others.
    Panels(PanelList),
    /// The question what happens to the engine when the console is left.
    Leave(LeaveDialog),
    /// Load, policy, search or a device, with their numbers.
    Form(Form),
    /// How things look.
    Themes(Themes),
    /// The combination rule, weights and votes.
    Voters(Voters),
    /// The setups that ran, and when.
    History(HistoryDialog),
    /// A file to read or write.
    Picker(Box<Picker>),
    /// The changes that a change of the models would make.
    Models(ModelPlan),
    /// The steps of a reload.
    Reload(ReloadSteps),
}

/// The one list of dialogs: the body of `$dialog`, where a box is borrowed by `$borrow`.
macro_rules! body_of {
    ($dialog:expr, $borrow:ident) => {
        match $dialog {
            Dialog::Help(body) => body,
            Dialog::Palette(body) => body,
            Dialog::Compare(body) => body.$borrow(),
            Dialog::Confirm(body) => body,
            Dialog::Panels(body) => body,
            Dialog::Leave(body) => body,
            Dialog::Form(body) => body,
            Dialog::Themes(body) => body,
            Dialog::Voters(body) => body,
            Dialog::History(body) => body,
            Dialog::Picker(body) => body.$borrow(),
            Dialog::Models(body) => body,
            Dialog::Reload(body) => body,
        }
    };
}

impl Dialog {
    /// Returns what it does.
    pub fn body(&self) -> &dyn DialogBody {
        body_of!(self, as_ref)
    }

    /// Returns what it does, to let it do that.
    pub fn body_mut(&mut self) -> &mut dyn DialogBody {
        body_of!(self, as_mut)
    }
}

/// The behaviour that all dialogs have.
pub trait DialogBody {
    /// Takes a key.
    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply;

    /// Takes pasted text into the field that has the keys; returns false where there is
    /// none, or none that takes such text.
    fn on_paste(&mut self, _line: &str) -> bool {
        false
    }

    /// Draws the dialog over what is there.
    fn draw(&self, painter: &mut Painter<'_>, model: &Model);

    /// Returns whether it speaks of devices and members, or changes what they do.
    fn is_of_frame(&self) -> bool {
        false
    }

    /// Returns the key that ends the program, where that is what it asks.
    fn leaves_by(&self) -> Option<char> {
        None
    }

    /// Returns the setup that it compares with what runs, if it does.
    fn compared(&self) -> Option<&Setup> {
        None
    }

    /// Takes what the session says of a setup that it was asked about.
    fn previewed(&mut self, _about: &Setup, _preview: &Result<EditPreview, Refusal>) {}
}

/// A dialog's reply to a key.
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
    AskTerms,
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
    /// Returns whether it ends, changes or writes something, and does not only show or
    /// ask.
    pub fn does_something(&self) -> bool {
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
            | DialogReply::AskTerms
            | DialogReply::BringBack { .. } => false,
        }
    }
}
