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
mod what_if;

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
pub(crate) use what_if::WhatIfTable;

use crossterm::event::KeyEvent;
use divisi_session::{Command, EditPreview, Refusal, Setup, Terms, WhatIf, WhatIfReply};

use crate::commands::Binding;
use crate::look::Painter;
use crate::model::{Effect, Model, Setting};

/// One dialog with its state.
#[derive(Clone, Debug)]
pub enum Dialog {
    /// A searchable list of all commands.
    Help(Help),
    /// The command palette.
    Palette(Palette),
    /// The effects of a setup.
    Compare(Box<Compare>),
    /// Yes or no.
    Confirm(Confirm),
    /// The shown and the hidden panels.
    Panels(PanelList),
    /// The question about the engine on quitting.
    Leave(LeaveDialog),
    /// A form, such as for a load, a policy, a search or a device.
    Form(Form),
    /// The choice of a theme.
    Themes(Themes),
    /// The combination rule, weights and votes.
    Voters(Voters),
    /// The earlier setups.
    History(HistoryDialog),
    /// A file to read or write.
    Picker(Box<Picker>),
    /// The effects of a change of models.
    Models(ModelPlan),
    /// The steps of a reload.
    Reload(ReloadSteps),
    /// What-if questions and their answers.
    WhatIf(Box<WhatIfTable>),
}

/// The list of dialogs: returns the body of `$dialog`, with boxes borrowed by `$borrow`.
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
            Dialog::WhatIf(body) => body.$borrow(),
        }
    };
}

impl Dialog {
    /// Returns its behaviour.
    pub fn body(&self) -> &dyn DialogBody {
        body_of!(self, as_ref)
    }

    /// Returns its behaviour, mutably.
    pub fn body_mut(&mut self) -> &mut dyn DialogBody {
        body_of!(self, as_mut)
    }
}

/// The behaviour of all dialogs.
pub trait DialogBody {
    /// Handles a key.
    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply;

    /// Pastes text into the active field. Returns false if no field accepts the text.
    fn on_paste(&mut self, _line: &str) -> bool {
        false
    }

    /// Draws the dialog over the screen.
    fn draw(&self, painter: &mut Painter<'_>, model: &Model);

    /// Returns whether it shows or changes devices and members.
    fn is_of_frame(&self) -> bool {
        false
    }

    /// Returns the key that ends the program, if the dialog asks about that.
    fn leaves_by(&self) -> Option<char> {
        None
    }

    /// Returns the setup that it compares with the running one, if any.
    fn compared(&self) -> Option<&Setup> {
        None
    }

    /// Receives the session's preview of a setup.
    fn previewed(&mut self, _about: &Setup, _preview: &Result<EditPreview, Refusal>) {}

    /// Returns the questions without an answer that were not asked yet, or all without an answer if
    /// they are to be asked `again`.
    fn questions(&mut self, _again: bool) -> Vec<WhatIf> {
        Vec::new()
    }

    /// Receives the session's reply to a question.
    fn answered(&mut self, _about: &WhatIf, _reply: &Result<WhatIfReply, Refusal>) {}

    /// Drops answers, since another setup runs.
    fn renew(&mut self) {}
}

/// A dialog's reply to a key.
#[derive(Clone, Debug)]
pub enum DialogReply {
    /// The dialog stays open.
    Stay,
    /// The dialog closes.
    Close,
    /// The dialog closes, and the key goes to the layer below.
    Pass,
    /// The dialog closes, and a command goes to the session.
    Send(Command),
    /// The dialog closes, and a command of the console runs.
    Run(&'static Binding),
    /// The dialog closes, and a setting is staged, or compared outside of editing.
    Stage(Setting),
    /// The dialog stays and asks for the terms of a probation.
    AskTerms,
    /// The dialog closes, and the comparison below is applied on these terms.
    Apply(Terms),
    /// The dialog closes, and an earlier setup is compared with the running one.
    BringBack {
        /// Its number in the history.
        number: u64,
        /// The whole setup.
        setup: Box<Setup>,
    },
    /// The dialog closes, and a setup is staged.
    StageSetup(Box<Setup>),
    /// The dialog closes, and the shown panels are saved as a layout of this name.
    SaveLayout(String),
    /// The dialog stays and requests an effect.
    Ask(Effect),
    /// The dialog closes, and the timeline is written to a file.
    ExportTrace,
    /// Staged changes are dropped.
    DropEdit,
    /// The program ends.
    Quit,
}

impl DialogReply {
    /// Returns whether it ends, changes or writes something, beyond showing or asking.
    pub fn does_something(&self) -> bool {
        match self {
            DialogReply::Send(_)
            | DialogReply::ExportTrace
            | DialogReply::Stage(_)
            | DialogReply::StageSetup(_)
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
