//! The functions of commands, from the rows of the table in `commands`.
//!
//! The compiler checks that each row has a function for its keys and one for its line.

#![allow(
    clippy::unit_arg,
    reason = "keeps a row on one line: `()` converts to no effect"
)]

use std::ptr;

use divisi_session::Command;

use super::follow_up::FollowUp;
use super::lines::{self, LineFront, LineWords, Said};
use super::{arguments, comparison, edit, panels, requests, session, stage, streams, time};
use crate::commands::{self, CommandInfo, each_command};
use crate::dialogs::{Dialog, Form, Help, HistoryDialog, Palette, PanelList, Themes};
use crate::model::{Effect, Model};

/// The function of a screen command.
pub(super) type ScreenFn = fn(&mut Model) -> FollowUp;
/// The function of a line command.
pub(super) type LineFn = fn(&mut LineFront<'_>, LineWords<'_>) -> Said;

/// The functions of a command.
struct Action {
    screen: Option<ScreenFn>,
    line: Option<LineFn>,
}

const fn screen(does: ScreenFn) -> Action {
    Action {
        screen: Some(does),
        line: None,
    }
}

const fn line(does: LineFn) -> Action {
    Action {
        screen: None,
        line: Some(does),
    }
}

const fn both(screen: ScreenFn, line: LineFn) -> Action {
    Action {
        screen: Some(screen),
        line: Some(line),
    }
}

impl Action {
    /// Checks that there is a function for keys and for a line if, and only if, the row has them.
    const fn check(&self, keys: &[&str], line: &[&str]) {
        assert!(
            self.screen.is_some() != keys.is_empty(),
            "keys without a function"
        );
        assert!(
            self.line.is_some() != line.is_empty(),
            "a line without a function"
        );
    }
}

macro_rules! act {
    ($(
        $id:ident = $command:expr, $action:expr
        $(, keys($($keys:tt)*))? $(, line($($line:tt)*))?;
    )*) => {
        static ACTIONS: &[(&CommandInfo, Action)] = &[$((&commands::$id, $action),)*];

        $(const _: () = $action.check(&[$(stringify!($($keys)*))?], &[$(stringify!($($line)*))?]);)*
    };
}
each_command!(act);

/// Returns the command's function on the screen.
pub(super) fn on_screen(command: &CommandInfo) -> Option<ScreenFn> {
    action(command)?.screen
}

/// Returns the command's function as a line.
pub(super) fn as_line(command: &CommandInfo) -> Option<LineFn> {
    action(command)?.line
}

fn action(command: &CommandInfo) -> Option<&'static Action> {
    let found = ACTIONS.iter().find(|(known, _)| ptr::eq(*known, command));
    found.map(|(_, action)| action)
}
