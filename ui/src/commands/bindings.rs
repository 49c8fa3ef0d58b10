//! The commands with their keys and lines, from the rows of the table, and the commands of panels.

use std::sync::LazyLock;

use crossterm::event::KeyCode;

use super::Scope::{Always, Demo, Edit, In, Main, Replay};
use super::conditions::{
    another_votes, can_be_lost, can_be_slowed, can_come_back, can_load, can_redo, can_undo,
    has_door, has_found, has_incident, has_proposal, has_rule, has_tasks, is_on_probation,
    may_take_editing, searches,
};
use super::keys::{Key, code_key, control, key};
use super::table::each_command;
use super::{Binding, CommandInfo, LineForm, Scope, command};
use crate::layout::{Panel, each_panel};

macro_rules! declare {
    ($(
        $id:ident = $command:expr, $action:expr
        $(, keys($($keys:tt)*))? $(, line($($line:tt)*))?;
    )*) => {
        $(
            #[doc = concat!("The command of the row `", stringify!($id), "`.")]
            pub static $id: CommandInfo = $command;
        )*

        fn bindings() -> Vec<Binding> {
            vec![$($(bind(&$id, $($keys)*),)?)*]
        }

        fn forms() -> Vec<LineForm> {
            vec![$($(line(&$id, $($line)*),)?)*]
        }
    };
}
each_command!(declare);

fn bind(
    command: &'static CommandInfo,
    scope: Scope,
    keys: &[Key],
    footer: &'static str,
    title: &'static str,
    help: &'static str,
) -> Binding {
    Binding {
        command,
        scope,
        keys: keys.to_vec(),
        footer,
        title,
        help,
    }
}

fn line(
    command: &'static CommandInfo,
    takes: &'static str,
    also: &'static [&'static str],
    help: &'static str,
) -> LineForm {
    LineForm {
        command,
        takes,
        also,
        help,
    }
}

macro_rules! declare_focus {
    ($($panel:ident $name:ident $sign:literal $help:literal,)*) => {
        /// The commands that focus a panel, in the order of the panels.
        static FOCUS: [CommandInfo; Panel::ALL.len()] =
            [$(command(concat!("focus-", stringify!($name)))),*];
    };
}
each_panel!(declare_focus);

/// Returns the command that focuses a panel.
pub(crate) const fn focus(panel: Panel) -> &'static CommandInfo {
    &FOCUS[panel as usize]
}

/// Returns the panel that a command focuses.
pub(crate) fn focused_by(command: &CommandInfo) -> Option<Panel> {
    Panel::ALL
        .into_iter()
        .find(|panel| focus(*panel) == command)
}

/// Every command of the screen with its keys, in the order of the footer and the help.
pub static BINDINGS: LazyLock<Vec<Binding>> = LazyLock::new(|| {
    let mut all = bindings();
    let after = all.iter().position(|b| *b.command == PREVIOUS);
    let at = after.map_or(all.len(), |at| at + 1);
    let focused = Panel::ALL.map(|panel| {
        let facts = panel.facts();
        bind(
            focus(panel),
            Main,
            &[key(facts.sign)],
            "",
            facts.title,
            facts.help,
        )
    });
    all.splice(at..at, focused);
    all
});

/// The first lines in the help of linear mode. Others follow in the order of the table.
#[rustfmt::skip]
static FIRST_LINES: [&CommandInfo; 36] = [
    &HELP, &STATUS, &SET, &PRECISION, &UNSTAGE, &COMPARE, &APPLY, &KEEP, &ROLL_BACK, &UNDO, &REDO,
    &SEARCH, &PAUSE, &RESUME, &CANCEL, &APPLY_BEST, &APPLY_PROPOSAL, &LOAD, &MIX, &POLICY, &TARGET,
    &VOTE, &SCALING, &COMPARE_POLICIES, &LISTEN, &LOAD_MODEL, &UNLOAD_MODEL, &PLAN_MODELS,
    &APPLY_MODELS, &LOSE_DEVICE, &REGAIN_DEVICE, &SLOW_DEVICE, &MAX_INF, &CLEAR, &RECORD, &QUIT,
];

/// Every command of linear mode, in the order of its help.
pub static LINES: LazyLock<Vec<LineForm>> = LazyLock::new(|| {
    let mut all = forms();
    let place = |form: &LineForm| FIRST_LINES.iter().position(|c| *c == form.command);
    all.sort_by_key(|form| place(form).unwrap_or(usize::MAX));
    all
});
