//! All commands with their actions on the screen and as a line.
//!
//! The compiler checks that each binding of [`BINDINGS`] and each form of [`LINES`] has a function,
//! and that no command is listed twice.

#![allow(
    clippy::unit_arg,
    reason = "keeps a row on one line: `()` converts to no effect"
)]

use divisi_session::Command;

use super::follow_up::FollowUp;
use super::lines::{self, LineError, LineFront, LineWords};
use super::{comparison, edit, panels, session, stage, streams};
use crate::commands as c;
use crate::commands::{BINDINGS, CommandInfo, LINES};
use crate::layout::Panel;
use crate::model::Model;

/// The function of a screen command.
pub(super) type ScreenFn = fn(&mut Model) -> FollowUp;
/// The function of a line command.
pub(super) type LineFn = fn(&mut LineFront<'_>, LineWords<'_>) -> Result<Vec<String>, LineError>;

/// A command with its actions. Either may be missing, like its keys or its line form.
struct Action {
    command: &'static CommandInfo,
    screen: Option<ScreenFn>,
    line: Option<LineFn>,
}

const fn screen_only(command: &'static CommandInfo, does: ScreenFn) -> Action {
    Action {
        command,
        screen: Some(does),
        line: None,
    }
}

const fn line_only(command: &'static CommandInfo, does: LineFn) -> Action {
    Action {
        command,
        screen: None,
        line: Some(does),
    }
}

const fn both(command: &'static CommandInfo, screen: ScreenFn, line: LineFn) -> Action {
    Action {
        command,
        screen: Some(screen),
        line: Some(line),
    }
}

#[rustfmt::skip]
static ACTIONS: &[Action] = &[
    both(&c::HELP, |_| panels::help(), lines::help),
    screen_only(&c::PALETTE, |_| panels::palette()),
    both(&c::QUIT, session::quit, lines::quit),
    screen_only(&c::SUSPEND, |_| session::suspend()),
    screen_only(&c::MOUSE, panels::mouse),
    screen_only(&c::PICTURE, |_| panels::picture()),
    screen_only(&c::THEME, |m| panels::theme(m)),
    screen_only(&c::SAVE_LAYOUT, |m| panels::save_layout(m)),
    screen_only(&c::NEXT, |m| panels::next(m, 1).into()),
    screen_only(&c::PREVIOUS, |m| panels::next(m, -1).into()),
    screen_only(&c::FOCUS_ALLOCATION, |m| panels::focus(m, Panel::Allocation).into()),
    screen_only(&c::FOCUS_SEARCH, |m| panels::focus(m, Panel::Search).into()),
    screen_only(&c::FOCUS_STREAMS, |m| panels::focus(m, Panel::Streams).into()),
    screen_only(&c::FOCUS_LATENCY, |m| panels::focus(m, Panel::Latency).into()),
    screen_only(&c::FOCUS_THROUGHPUT, |m| panels::focus(m, Panel::Throughput).into()),
    screen_only(&c::FOCUS_LOG, |m| panels::focus(m, Panel::Log).into()),
    screen_only(&c::FOCUS_MEMBERS, |m| panels::focus(m, Panel::Members).into()),
    screen_only(&c::FOCUS_STEPS, |m| panels::focus(m, Panel::Steps).into()),
    screen_only(&c::FOCUS_MODELS, |m| panels::focus(m, Panel::Models).into()),
    screen_only(&c::FOCUS_CLIENTS, |m| panels::focus(m, Panel::Clients).into()),
    screen_only(&c::FOCUS_TASKS, |m| panels::focus(m, Panel::Tasks).into()),
    both(&c::SCALING, |m| session::next_scaling(m), lines::scaling),
    both(&c::COMPARE_POLICIES, |_| Command::ComparePolicies.into(), lines::compare_policies),
    both(&c::LISTEN, |m| session::listen(m), lines::listen),
    both(&c::LOAD_MODEL, |m| panels::load_model(m), lines::load_model),
    both(&c::UNLOAD_MODEL, |m| panels::unload_model(m), lines::unload_model),
    screen_only(&c::EXPAND, |m| panels::expand(m).into()),
    screen_only(&c::NEXT_LAYOUT, |m| panels::next_layout(m).into()),
    screen_only(&c::PANELS, |_| panels::list()),
    screen_only(&c::LATENCY_SCOPE, |m| panels::deeper_latency(m).into()),
    screen_only(&c::THROUGHPUT_SCOPE, |m| panels::deeper_throughput(m).into()),
    screen_only(&c::UP, |m| panels::shift(m, -1, false).into()),
    screen_only(&c::DOWN, |m| panels::shift(m, 1, false).into()),
    screen_only(&c::PAGE_UP, |m| panels::page(m, -1).into()),
    screen_only(&c::PAGE_DOWN, |m| panels::page(m, 1).into()),
    screen_only(&c::TOP, |m| panels::leap(m, -1).into()),
    screen_only(&c::BOTTOM, |m| panels::leap(m, 1).into()),
    screen_only(&c::LEFT, |m| panels::shift(m, -1, true).into()),
    screen_only(&c::RIGHT, |m| panels::shift(m, 1, true).into()),
    both(&c::VOTE, |m| panels::vote(m), lines::vote),
    screen_only(&c::EDIT, |m| edit::begin(m).into()),
    screen_only(&c::RAISE, |m| edit::cycle(m, 1).into()),
    screen_only(&c::LOWER, |m| edit::cycle(m, -1).into()),
    screen_only(&c::EMPTY, |m| edit::empty(m).into()),
    both(&c::PRECISION, |m| edit::precision(m).into(), lines::precision),
    both(&c::UNSTAGE, |m| edit::unstage(m).into(), lines::unstage),
    screen_only(&c::RESTAGE, |m| edit::restage(m).into()),
    screen_only(&c::LEAVE, |m| edit::leave(m).into()),
    screen_only(&c::COPY, |m| edit::take(m, false).into()),
    screen_only(&c::CUT, |m| edit::take(m, true).into()),
    screen_only(&c::PUT, |m| edit::put_worker(m).into()),
    screen_only(&c::SPREAD, |m| edit::spread(m).into()),
    screen_only(&c::CLEAR_DEVICE, |m| edit::clear_device(m).into()),
    screen_only(&c::SAME_ROW, |m| edit::same_row(m).into()),
    screen_only(&c::SAME_COLUMN, |m| edit::same_column(m).into()),
    both(&c::COMPARE, stage::compare, comparison::compare),
    both(&c::UNDO, |_| stage::undo(), |f, w| lines::plain(f, w, Command::Undo)),
    both(&c::REDO, |_| stage::redo(), |f, w| lines::plain(f, w, Command::Redo)),
    both(&c::KEEP, |_| stage::keep(), |f, w| lines::plain(f, w, Command::EndProbation(true))),
    both(&c::ROLL_BACK, |_| stage::roll_back(), |f, w| lines::plain(f, w, Command::EndProbation(false))),
    both(&c::POLICY, |m| stage::policy(m), lines::policy),
    screen_only(&c::COMBINATION, |m| stage::combination(m)),
    screen_only(&c::SEGMENT_SIZE, |m| stage::segment_size(m)),
    both(&c::TARGET, |m| stage::target(m), lines::target),
    both(&c::LOAD, |m| stage::load(m), lines::load),
    both(&c::MIX, |m| stage::mix(m), lines::mix),
    screen_only(&c::HISTORY, |_| stage::history()),
    screen_only(&c::OPEN, |m| stage::open_file(m)),
    screen_only(&c::WRITE, |m| stage::write_file(m)),
    both(&c::SEARCH, |m| stage::search(m), lines::search),
    both(&c::PAUSE, |m| stage::pause(m), |f, w| lines::plain(f, w, Command::PauseSearch)),
    both(&c::CANCEL, |_| Command::CancelSearch.into(), |f, w| lines::plain(f, w, Command::CancelSearch)),
    both(&c::APPLY_BEST, stage::apply_best, lines::apply_best),
    both(&c::APPLY_PROPOSAL, stage::apply_proposal, lines::apply_proposal),
    both(&c::LOSE_DEVICE, |m| session::lose_device(m).into(), lines::lose_device),
    both(&c::REGAIN_DEVICE, |m| Command::RegainDevice(m.cursor.device).into(), lines::regain_device),
    both(&c::SLOW_DEVICE, |m| session::slow_device(m).into(), lines::slow_device),
    both(&c::MAX_INF, |m| session::max_inf(m).into(), lines::max_inf),
    screen_only(&c::NEXT_DEVICE, |m| session::step_device(m, 1).into()),
    screen_only(&c::PREVIOUS_DEVICE, |m| session::step_device(m, -1).into()),
    both(&c::CLEAR, |_| Command::ClearLatency.into(), |f, w| lines::plain(f, w, Command::ClearLatency)),
    both(&c::RECORD, |m| session::record(m), lines::record),
    screen_only(&c::TAKE_EDITING, |m| session::take_editing(m)),
    screen_only(&c::PLAY_PAUSE, |m| session::play(m, session::pause_or_go_on)),
    screen_only(&c::SLOWER, |m| session::play(m, session::slower)),
    screen_only(&c::FASTER, |m| session::play(m, session::faster)),
    screen_only(&c::SEEK_BACK, |m| session::play(m, session::back)),
    screen_only(&c::SEEK_FORWARD, |m| session::play(m, session::forward)),
    screen_only(&c::FREEZE, |m| streams::freeze(m).into()),
    screen_only(&c::ZOOM_IN, |m| streams::zoom(m, -1, None).into()),
    screen_only(&c::ZOOM_OUT, |m| streams::zoom(m, 1, None).into()),
    screen_only(&c::PAGE_BACK, |m| streams::pan(m, -1.0).into()),
    screen_only(&c::PAGE_ON, |m| streams::pan(m, 1.0).into()),
    screen_only(&c::OLDEST, |m| streams::oldest(m).into()),
    screen_only(&c::LATEST, |m| streams::go_live(m).into()),
    screen_only(&c::SPAN_BEFORE, |m| streams::step(m, false).into()),
    screen_only(&c::SPAN_AFTER, |m| streams::step(m, true).into()),
    screen_only(&c::SORT_ROWS, |m| streams::sort(m).into()),
    screen_only(&c::FILTER_ROWS, |m| streams::filter(m).into()),
    screen_only(&c::EXPORT_TRACE, |m| streams::export(m).into()),
    screen_only(&c::DEMO_NEXT, |m| session::next_scene(m).into()),
    screen_only(&c::DEMO_BACK, |m| session::scene_before(m).into()),
    screen_only(&c::DEMO_REPEAT, |m| session::scene_again(m).into()),
    screen_only(&c::DEMO_LEAVE, |m| session::leave_demo(m).into()),
    line_only(&c::PLAN_MODELS, lines::plan_models),
    line_only(&c::APPLY_MODELS, lines::apply_models),
    line_only(&c::STATUS, lines::status),
    line_only(&c::SET, lines::set),
    line_only(&c::APPLY, lines::apply),
    line_only(&c::RESUME, |f, w| lines::plain(f, w, Command::ResumeSearch)),
];

/// Returns the command's action on the screen.
pub(super) fn screen(command: &CommandInfo) -> Option<ScreenFn> {
    action(command)?.screen
}

/// Returns the command's action as a line.
pub(super) fn line(command: &CommandInfo) -> Option<LineFn> {
    action(command)?.line
}

fn action(command: &CommandInfo) -> Option<&'static Action> {
    ACTIONS.iter().find(|a| a.command == command)
}

const _: () = assert!(bindings_act(), "a command with keys does nothing");
const _: () = assert!(lines_act(), "a command of lines does nothing");
const _: () = assert!(none_twice(), "a command does two things");

const fn bindings_act() -> bool {
    let mut at = 0;
    while at < BINDINGS.len() {
        match place(BINDINGS[at].command, 0) {
            Some(action) if ACTIONS[action].screen.is_some() => at += 1,
            _ => return false,
        }
    }
    true
}

const fn lines_act() -> bool {
    let mut at = 0;
    while at < LINES.len() {
        match place(LINES[at].command, 0) {
            Some(action) if ACTIONS[action].line.is_some() => at += 1,
            _ => return false,
        }
    }
    true
}

const fn none_twice() -> bool {
    let mut at = 0;
    while at < ACTIONS.len() {
        if place(ACTIONS[at].command, at + 1).is_some() {
            return false;
        }
        at += 1;
    }
    true
}

/// Finds the action of a command at or after a place in the table.
const fn place(command: &CommandInfo, from: usize) -> Option<usize> {
    let mut at = from;
    while at < ACTIONS.len() {
        if is_same(ACTIONS[at].command.name, command.name) {
            return Some(at);
        }
        at += 1;
    }
    None
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
