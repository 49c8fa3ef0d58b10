//! What each command does to the model.

mod devices;
mod files;
mod looks;
mod matrix;
mod panels;
mod session;
mod stage;
pub mod streams;

pub use files::{looked, picked, read, wrote};
pub use looks::configured;
pub use matrix::arranged;
pub use panels::{leave_alone, look_at, settle};
pub use session::{hung_up, interrupt};
pub use stage::{bring_back, is_on_probation, stage};

use divisi::session::{Command, SearchState};

use super::commands::Id;
use super::demo;
use super::dialogs::{Confirm, Dialog, Form, Help, Palette, Then};
use super::edit::SetupEdit;
use super::effect::Effect;
use super::model::{Model, Panel};

/// Does the command, which is known to be possible now.
pub fn act(model: &mut Model, id: Id) -> Vec<Effect> {
    match id {
        Id::Quit => return session::quit(model),
        Id::DemoNext | Id::DemoBack | Id::DemoRepeat | Id::DemoLeave => {
            return demo::act(model, id);
        }
        Id::Suspend => return vec![Effect::Suspend],
        Id::Mouse => return mouse(model),
        Id::Picture => return looks::picture(model),
        Id::Theme => looks::choose(model),
        Id::SaveLayout => looks::save_layout(model),
        Id::Pause => return pause(model),
        Id::Cancel => return vec![Effect::Send(Command::CancelSearch)],
        Id::Clear => return vec![Effect::Send(Command::ClearLatency)],
        Id::Record | Id::TakeEditing => return session::act(model, id),
        Id::PlayPause | Id::Slower | Id::Faster | Id::SeekBack | Id::SeekForward => {
            return session::play(model, id);
        }
        Id::ApplyBest => return apply_best(model),
        Id::Compare => return stage::compare(model),
        Id::ApplyProposal => return apply_proposal(model),
        Id::RegainDevice => return vec![Effect::Send(Command::RegainDevice(model.cursor.device))],
        Id::LoseDevice | Id::SlowDevice | Id::MaxInf => devices::open(model, id),
        Id::NextDevice | Id::PreviousDevice => devices::step(model, id),
        Id::Vote => return panels::vote(model),
        Id::Next | Id::Previous | Id::NextLayout | Id::Panels => panels::arrange(model, id),
        Id::LatencyScope | Id::ThroughputScope => panels::deeper(model),
        Id::Help | Id::Palette | Id::Undo | Id::Redo | Id::Search | Id::Load => open(model, id),
        Id::Policy | Id::Combination | Id::SegmentSize | Id::Target | Id::History => {
            stage::open(model, id);
        }
        Id::Freeze
        | Id::ZoomIn
        | Id::ZoomOut
        | Id::PageBack
        | Id::PageOn
        | Id::Oldest
        | Id::Latest
        | Id::SpanBefore
        | Id::SpanAfter
        | Id::SortRows
        | Id::FilterRows
        | Id::ExportTrace => return streams::act(model, id),
        Id::Keep => stage::end_probation(model, true),
        Id::RollBack => stage::end_probation(model, false),
        Id::Open | Id::Write => return files::open(model, id),
        Id::Copy | Id::Cut | Id::Put | Id::Spread => return matrix::act(model, id),
        Id::ClearDevice | Id::SameRow | Id::SameColumn => return matrix::act(model, id),
        Id::Up | Id::Down | Id::Left | Id::Right => shift(model, id),
        Id::Edit | Id::Raise | Id::Lower | Id::Empty | Id::Unstage | Id::Restage | Id::Leave => {
            edit(model, id);
        }
        _ => view(model, id),
    }
    Vec::new()
}

fn mouse(model: &mut Model) -> Vec<Effect> {
    model.mouse = !model.mouse;
    let text = match model.mouse {
        true => "mouse on: click to focus, wheel to scroll",
        false => "mouse off: the terminal has it, text can be selected",
    };
    model.say(text, false);
    vec![Effect::Mouse(model.mouse)]
}

fn pause(model: &Model) -> Vec<Effect> {
    let state = model.snapshot.search.as_ref().map(|s| &s.state);
    let command = match state {
        Some(SearchState::Paused) => Command::ResumeSearch,
        _ => Command::PauseSearch,
    };
    vec![Effect::Send(command)]
}

fn apply_best(model: &mut Model) -> Vec<Effect> {
    let Some(best) = model.best().cloned() else {
        return Vec::new();
    };
    if best == model.snapshot.matrix {
        model.say("the best matrix found is running already", false);
        return Vec::new();
    }
    // The matrix that is compared, not a better one found meanwhile.
    stage::ask_matrix(model, "apply the best found", best)
}

fn apply_proposal(model: &mut Model) -> Vec<Effect> {
    let Some(proposal) = &model.snapshot.proposal else {
        return Vec::new();
    };
    // The matrix that is compared: another may be proposed meanwhile.
    let matrix = proposal.matrix.clone();
    stage::ask_matrix(model, "apply the proposed move", matrix)
}

fn open(model: &mut Model, id: Id) {
    let dialog = match id {
        Id::Help => Dialog::Help(Help::default()),
        Id::Palette => Dialog::Palette(Palette::default()),
        Id::Undo => Dialog::Confirm(Confirm::new(
            "undo",
            "Bring back what ran before the last change, matrix and settings?",
            Then::Send(Command::Undo),
        )),
        Id::Redo => Dialog::Confirm(Confirm::new(
            "redo",
            "Run again what the last undo took back?",
            Then::Send(Command::Redo),
        )),
        Id::Search => Dialog::Form(Form::search()),
        _ => Dialog::Form(Form::load(model.snapshot.load.pattern.as_ref())),
    };
    model.dialogs.push(dialog);
}

fn edit(model: &mut Model, id: Id) {
    let cursor = model.cursor;
    let Some(edit) = &mut model.edit else {
        model.edit = Some(SetupEdit::new(model.snapshot.setup()));
        model.focus = Panel::Allocation;
        return;
    };
    match id {
        Id::Raise => edit.cycle(cursor, 1),
        Id::Lower => edit.cycle(cursor, -1),
        Id::Empty => edit.set(cursor, None),
        Id::Leave => leave(model),
        Id::Unstage if !edit.undo() => model.say("nothing staged to undo", false),
        Id::Restage if !edit.redo() => model.say("nothing staged to redo", false),
        _ => {}
    }
}

fn leave(model: &mut Model) {
    // What was taken is let go first.
    if model.edit.as_mut().is_some_and(SetupEdit::unmark) {
        return;
    }
    if !model.has_staged() {
        model.edit = None;
        return;
    }
    let text = "Drop the staged changes? What runs stays as it is.";
    let confirm = Confirm::new("leave editing", text, Then::DropEdit);
    model.dialogs.push(Dialog::Confirm(confirm));
}

fn view(model: &mut Model, id: Id) {
    match id {
        Id::Focus(panel) => model.focus = panel,
        Id::Expand => model.expanded = !model.expanded,
        _ => {}
    }
}

fn shift(model: &mut Model, id: Id) {
    let step = if matches!(id, Id::Up | Id::Left) {
        -1
    } else {
        1
    };
    let sideways = matches!(id, Id::Left | Id::Right);
    match model.focus {
        Panel::Streams if sideways && model.edit.is_none() => {
            streams::pan(model, step as f64 / 4.0)
        }
        panel @ (Panel::Latency | Panel::Throughput) => panels::step(model, panel, step),
        panel if !sideways && model.edit.is_none() => scroll(model, panel, step),
        Panel::Allocation => walk(model, step, sideways),
        _ => {}
    }
}

/// Moves the view of one panel by `step` rows.
pub fn scroll(model: &mut Model, panel: Panel, step: isize) {
    match panel {
        Panel::Allocation => walk(model, step, false),
        Panel::Streams => streams::choose(model, step),
        Panel::Members => walk(model, step, true),
        Panel::Search => panels::scroll_search(model, step),
        Panel::Latency | Panel::Throughput => panels::step(model, panel, step),
        Panel::Log => model.log_back = moved(model.log_back, -step, model.snapshot.log.len()),
    }
}

fn walk(model: &mut Model, step: isize, sideways: bool) {
    let frame = model.snapshot.matrix.frame();
    let cursor = &mut model.cursor;
    match sideways {
        true => cursor.member = moved(cursor.member, step, frame.members.len()),
        false => cursor.device = moved(cursor.device, step, frame.devices.len()),
    }
    if let Some(edit) = &mut model.edit {
        edit.settle();
    }
}

fn moved(at: usize, step: isize, count: usize) -> usize {
    at.saturating_add_signed(step).min(count.saturating_sub(1))
}
