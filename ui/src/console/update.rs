//! Events to a new model and effects: no clock, no session, no terminal.

use std::time::Duration;

use crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use divisi::session::{Command, EditPreview, Play, ReloadState, Setup, Snapshot};
use divisi::trace::Span;
use ratatui::layout::{Position, Rect};

use super::actions;
use super::change;
use super::commands::Key;
use super::demo;
use super::dialogs::{self, Dialog};
use super::effect::{ConsoleEvent, Effect, SessionNews};
use super::format;
use super::layout;
use super::model::{Model, Panel};
use super::timeline::Timeline;

/// Time that goes back by less has not been set back.
const SET_BACK: Duration = Duration::from_millis(100);

/// Takes one event into the model.
pub fn update(model: &mut Model, event: ConsoleEvent) -> Vec<Effect> {
    let before = dialogs::top(model);
    let mut effects = take(model, event);
    effects.extend(change::question(model));
    if dialogs::top(model) != before {
        model.consent.ask();
    }
    effects
}

fn take(model: &mut Model, event: ConsoleEvent) -> Vec<Effect> {
    match event {
        ConsoleEvent::Key(key) if key.kind != KeyEventKind::Release => return on_key(model, &key),
        ConsoleEvent::Key(_) => {}
        ConsoleEvent::Paste(text) => on_paste(model, &text),
        ConsoleEvent::HungUp => return actions::hung_up(model),
        ConsoleEvent::Mouse(mouse) => on_mouse(model, &mouse),
        ConsoleEvent::Resize(width, height) => model.area = Rect::new(0, 0, width, height),
        ConsoleEvent::Spans { now, spans, lost } => on_spans(model, now, spans, lost),
        ConsoleEvent::News(news) => {
            let mut effects = on_news(model, *news);
            effects.extend(demo::on_news(model));
            return effects;
        }
        ConsoleEvent::Previewed(about, preview) => on_preview(model, &about, &preview),
        ConsoleEvent::Arranged(about, arranged) => actions::arranged(model, &about, arranged),
        // Whoever goes on is told; the console leaves.
        ConsoleEvent::Accepted(Command::KeepServing) => return vec![Effect::Quit],
        ConsoleEvent::Accepted(command) => on_accepted(model, &command),
        ConsoleEvent::Refused(reason) => {
            model.say(reason.as_str(), true);
            demo::refused(model, &reason);
        }
        ConsoleEvent::Configured(settings) => actions::configured(model, settings),
        ConsoleEvent::Wrote(wrote) => actions::wrote(model, wrote),
        ConsoleEvent::Looked(looked) => return actions::looked(model, looked),
        ConsoleEvent::Read(path, text) => return actions::read(model, &path, text),
        ConsoleEvent::Picked(picked) => return actions::picked(model, picked),
    }
    Vec::new()
}

fn on_key(model: &mut Model, key: &KeyEvent) -> Vec<Effect> {
    model.message = None;
    model.consent.press(Key::of(key));
    // These two mean the same whatever lies on top.
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => return actions::interrupt(model),
        KeyCode::Char('z') if control => return vec![Effect::Suspend],
        _ => {}
    }
    if let Some(effects) = dialogs::on_key(model, key) {
        return effects;
    }
    if actions::streams::on_key(model, key) {
        return Vec::new();
    }
    if let (Some(edit), KeyCode::Char(c @ '0'..='9')) = (&mut model.edit, key.code) {
        edit.digit(model.cursor, c);
        return Vec::new();
    }
    match model.settings.keys.find(key, model.key_context()) {
        Some(binding) => actions::run(model, binding),
        None => back_out(model, key),
    }
}

/// Text goes where text can be typed, and is never taken for keys.
fn on_paste(model: &mut Model, text: &str) {
    let line = dialogs::one_line(text);
    let taken = match model.dialogs.last_mut() {
        Some(dialog) => dialog.on_paste(&line),
        None => actions::streams::on_paste(model, &line),
    };
    model.message = None;
    if !taken {
        model.say("pasted text is not taken for keys: nothing was done", true);
    }
}

/// `Esc` where nothing else took it: one level back.
fn back_out(model: &mut Model, key: &KeyEvent) -> Vec<Effect> {
    if key.code != KeyCode::Esc {
        return Vec::new();
    }
    if model.focus == Panel::Streams && actions::streams::back(model) {
        return Vec::new();
    }
    if !actions::leave_alone(model) {
        actions::streams::go_live(model);
    }
    Vec::new()
}

fn on_mouse(model: &mut Model, mouse: &MouseEvent) {
    let at = Position::new(mouse.column, mouse.row);
    let screen = layout::arrange(model.area, model);
    let hit = screen.and_then(|s| s.panels.into_iter().find(|(_, r)| r.contains(at)));
    let (Some((panel, place)), true) = (hit, model.dialogs.is_empty()) else {
        return;
    };
    let streams = panel == Panel::Streams && model.edit.is_none();
    if streams && actions::streams::on_mouse(model, place, mouse) {
        if matches!(mouse.kind, MouseEventKind::Down(_)) {
            model.focus = panel;
        }
        return;
    }
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => actions::look_at(model, panel, place, at),
        MouseEventKind::ScrollUp => actions::scroll(model, panel, -1),
        MouseEventKind::ScrollDown => actions::scroll(model, panel, 1),
        _ => {}
    }
}

fn on_preview(model: &mut Model, about: &Setup, preview: &Result<EditPreview, String>) {
    if let Some(edit) = &mut model.edit {
        edit.answered(about, preview);
    }
    dialogs::previewed(model, about, preview);
}

fn on_news(model: &mut Model, news: SessionNews) -> Vec<Effect> {
    on_spans(model, news.snapshot.now, news.spans, news.lost);
    let before = std::mem::replace(&mut model.snapshot, news.snapshot);
    if before.matrix.frame() != model.snapshot.matrix.frame() {
        on_frame(model);
    }
    let reload = model.snapshot.reload.clone();
    if let Some(reload) = reload.filter(|r| Some(r) != before.reload.as_ref()) {
        on_reload(model, &reload);
    }
    match serves_otherwise(&before, &model.snapshot) {
        true => ask_again(model),
        false => Vec::new(),
    }
}

/// Other devices or members than before, as of another server: what was staged or is
/// being compared is about places that are no more.
fn on_frame(model: &mut Model) {
    let frame = model.snapshot.matrix.frame();
    let cursor = &mut model.cursor;
    cursor.device = cursor.device.min(frame.devices.len().saturating_sub(1));
    cursor.member = cursor.member.min(frame.members.len().saturating_sub(1));
    model.dialogs.retain(|d| !d.is_of_frame());
    if model.edit.take().is_some() {
        model.say("other devices or members: what was staged is dropped", true);
    }
}

fn serves_otherwise(before: &Snapshot, now: &Snapshot) -> bool {
    before.matrix != now.matrix
        || before.policy != now.policy
        || before.combination != now.combination
        || before.segment_size != now.segment_size
}

/// What was said of setups was against something that no longer runs.
fn ask_again(model: &mut Model) -> Vec<Effect> {
    if let Some(edit) = &mut model.edit {
        edit.ask_again();
    }
    let compared = model.dialogs.iter().filter_map(|d| match d {
        Dialog::Compare(compare) => Some(compare.setup.clone()),
        _ => None,
    });
    compared.map(|s| Effect::Preview(Box::new(s))).collect()
}

fn on_spans(model: &mut Model, now: Duration, spans: Vec<Span>, lost: u64) {
    // A recording was set back: what comes now came before. A clock across a socket may
    // be a little off.
    if now + SET_BACK < model.snapshot.now {
        model.timeline = Timeline::default();
        actions::streams::go_live(model);
    }
    model.snapshot.now = now;
    model.lost_spans = lost;
    model.timeline.extend(spans);
}

fn on_reload(model: &mut Model, reload: &divisi::session::ReloadView) {
    match &reload.state {
        ReloadState::Running => {}
        ReloadState::Done => {
            model
                .dialogs
                .retain(|d| !matches!(d, Dialog::Reload { .. }));
            model.say(
                format!("reload done in {}", format::duration(reload.elapsed)),
                false,
            );
        }
        ReloadState::Failed(reason) => {
            model.say(format!("reload failed: {reason}"), true);
        }
    }
}

fn on_accepted(model: &mut Model, command: &Command) {
    if matches!(command, Command::Play(Play::Seek(_))) {
        // The recording gives what came before that moment once more.
        model.timeline = Timeline::default();
        actions::streams::go_live(model);
    }
    if let Command::Apply(_, terms) = command {
        model.edit = None;
        model.change.terms = terms.unwrap_or(model.change.terms);
        let over = |d: &Dialog| matches!(d, Dialog::Compare(_) | Dialog::History(_));
        model.dialogs.retain(|d| !over(d));
    }
    let reloads = matches!(
        command,
        Command::Apply(..)
            | Command::Undo
            | Command::Redo
            | Command::EndProbation(false)
            | Command::LoseDevice(_)
    );
    if reloads && !is_of_demo(model, command) {
        let before = model.snapshot.reload.clone();
        model.dialogs.push(Dialog::Reload { before });
    }
    match command {
        Command::ClearLatency => model.cleared = model.snapshot.now,
        Command::StartRecording(_) => model.say("recording; r ends it", false),
        Command::StopRecording => match &model.snapshot.recording {
            Some(r) => model.say(format!("recorded to {}", r.path.display()), false),
            None => model.say("recording ended", false),
        },
        Command::TakeEditing(true) => model.say("you edit; E lets others", false),
        Command::TakeEditing(false) => model.say("others may edit", false),
        _ => {}
    }
    if matches!(command, Command::StartSearch(_)) {
        model.focus = Panel::Search;
    }
}

/// Whether the demonstration asked for this: its steps show in the footer, and a dialog
/// would hide what is to be seen.
fn is_of_demo(model: &Model, command: &Command) -> bool {
    let asked = model.demo.as_ref().is_some_and(demo::Demo::has_asked);
    asked && matches!(command, Command::Apply(..))
}
