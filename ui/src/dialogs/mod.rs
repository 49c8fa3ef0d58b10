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
mod reply;
mod themes;

pub(crate) use combination::Voters;
pub(crate) use compare::Compare;
pub(crate) use confirm::{Confirm, Then};
pub(crate) use field::{one_line, pasted};
pub(crate) use forms::Form;
pub(crate) use help::Help;
pub(crate) use history::HistoryDialog;
pub(crate) use leave::LeaveDialog;
pub(crate) use palette::Palette;
pub(crate) use panels::PanelList;
pub(crate) use picker::{Picker, Purpose};
pub(crate) use reload::ReloadSteps;
pub(crate) use reply::{DialogBody, DialogReply};
pub(crate) use themes::Themes;

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
    /// The steps of a reload.
    Reload(ReloadSteps),
}

impl Dialog {
    /// Returns what it does.
    pub fn body(&self) -> &dyn DialogBody {
        match self {
            Dialog::Help(help) => help,
            Dialog::Palette(palette) => palette,
            Dialog::Compare(compare) => compare.as_ref(),
            Dialog::Confirm(confirm) => confirm,
            Dialog::Panels(list) => list,
            Dialog::Leave(leave) => leave,
            Dialog::Form(form) => form,
            Dialog::Themes(themes) => themes,
            Dialog::Voters(voters) => voters,
            Dialog::History(history) => history,
            Dialog::Picker(picker) => picker.as_ref(),
            Dialog::Reload(steps) => steps,
        }
    }

    /// Returns what it does, to let it do that.
    pub fn body_mut(&mut self) -> &mut dyn DialogBody {
        match self {
            Dialog::Help(help) => help,
            Dialog::Palette(palette) => palette,
            Dialog::Compare(compare) => compare.as_mut(),
            Dialog::Confirm(confirm) => confirm,
            Dialog::Panels(list) => list,
            Dialog::Leave(leave) => leave,
            Dialog::Form(form) => form,
            Dialog::Themes(themes) => themes,
            Dialog::Voters(voters) => voters,
            Dialog::History(history) => history,
            Dialog::Picker(picker) => picker.as_mut(),
            Dialog::Reload(steps) => steps,
        }
    }
}
