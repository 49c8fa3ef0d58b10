//! Applies events to the model and returns effects, without a clock, a session or a terminal.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use divisi_model::trace::Span;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{
    Command, EditPreview, FigureHistory, ModelChangeState, ModelChangeView, Play, Refusal,
    ReloadState, ReloadView, Setup,
};
use ratatui::layout::Rect;

use super::state::ConsoleState;
use super::{mouse, stack};
use crate::commands::Key;
use crate::dialogs::{self, Dialog, ModelPlan, ReloadSteps};
use crate::incident::diagnose;
use crate::layout::Panel;
use crate::model::{ConsoleEvent, Effect, Model, SessionNews};
use crate::text::format;
use crate::view::SetupEdit;
use crate::view::timeline::Timeline;
use crate::{actions, demo};

/// A smaller step back in time does not count as a seek.
const SET_BACK: Duration = Duration::from_millis(100);

/// Applies one event to the state.
pub(super) fn update(state: &mut ConsoleState, event: ConsoleEvent) -> Vec<Effect> {
    let before = state.top();
    let again = matches!(event, ConsoleEvent::News(_));
    let mut effects = take(state, event);
    effects.extend(state.play_if_begun());
    effects.extend(state.questions(again));
    effects.extend(question(&mut state.model));
    if state.top() != before {
        state.consent.ask();
    }
    effects
}

/// Requests the preview of the staged setup, once.
fn question(model: &mut Model) -> Option<Effect> {
    let setup = model.edit.as_mut().and_then(SetupEdit::question)?;
    Some(Effect::Preview(Box::new(setup)))
}

fn take(state: &mut ConsoleState, event: ConsoleEvent) -> Vec<Effect> {
    let model = &mut state.model;
    match event {
        ConsoleEvent::Key(key) if key.kind != KeyEventKind::Release => {
            return on_key(state, &key);
        }
        ConsoleEvent::Key(_) => {}
        ConsoleEvent::Paste(text) => on_paste(state, &text),
        ConsoleEvent::HungUp => return actions::hung_up(model),
        ConsoleEvent::Mouse(mouse) => return mouse::on_mouse(state, &mouse),
        ConsoleEvent::Resize(width, height) => model.area = Rect::new(0, 0, width, height),
        ConsoleEvent::Spans { now, spans, lost } => on_spans(model, now, spans, lost),
        ConsoleEvent::News(news) => {
            let mut effects = on_news(state, *news);
            effects.extend(state.play());
            return effects;
        }
        ConsoleEvent::History(history) => on_history(model, history),
        ConsoleEvent::Previewed(about, preview) => on_preview(state, &about, &preview),
        ConsoleEvent::Answered(about, reply) => state.answer(&about, &reply),
        ConsoleEvent::Arranged(about, arranged) => actions::arranged(model, &about, arranged),
        // The engine continues, and the console quits.
        ConsoleEvent::Accepted(Command::KeepServing) => return vec![Effect::Quit],
        ConsoleEvent::Accepted(command) => on_accepted(state, &command),
        ConsoleEvent::Refused(reason) => {
            model.say(reason.as_str(), true);
            demo::refused(model, &reason);
        }
        ConsoleEvent::Configured(settings) => actions::configured(model, settings),
        ConsoleEvent::Wrote(wrote) => stack::wrote(state, wrote),
        ConsoleEvent::Looked(looked) => return stack::looked(state, looked),
        ConsoleEvent::Read(path, text) => return stack::read(state, &path, text),
        ConsoleEvent::Picked(picked) => return stack::picked(state, picked),
    }
    Vec::new()
}

fn on_key(state: &mut ConsoleState, key: &KeyEvent) -> Vec<Effect> {
    state.model.message = None;
    state.consent.press(Key::from_event(key));
    // These two keys work over every dialog.
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => return interrupt(state),
        KeyCode::Char('z') if control => return vec![Effect::Suspend],
        _ => {}
    }
    if let Some(effects) = stack::on_key(state, key) {
        return effects;
    }
    let model = &mut state.model;
    if actions::streams::on_key(model, key) || actions::requests::on_key(model, key) {
        return Vec::new();
    }
    if let (Some(edit), KeyCode::Char(c @ '0'..='9')) = (&mut model.edit, key.code) {
        edit.digit(model.cursor, c);
        return Vec::new();
    }
    match model.settings.keys.find(key, model.key_context()) {
        Some(binding) => state.run(binding),
        None => back_out(model, key),
    }
}

/// Handles `Ctrl-C`: asks like `q`, over every dialog, and never answers.
fn interrupt(state: &mut ConsoleState) -> Vec<Effect> {
    let asked = state.dialogs.last().and_then(|d| d.body().leaves_by());
    let Some(key) = asked else {
        let leave = actions::quit(&mut state.model);
        return state.follow(leave);
    };
    let text = format!("Ctrl-C does not answer: {key} quits, Esc stays");
    state.model.say(text, true);
    Vec::new()
}

/// Passes pasted text to a text field. It never counts as keys.
fn on_paste(state: &mut ConsoleState, text: &str) {
    let line = dialogs::one_line(text);
    let taken = match state.dialogs.last_mut() {
        Some(dialog) => dialog.body_mut().on_paste(&line),
        None => {
            let model = &mut state.model;
            actions::streams::on_paste(model, &line) || actions::requests::on_paste(model, &line)
        }
    };
    state.model.message = None;
    if !taken {
        let text = "pasted text is ignored here";
        state.model.say(text, true);
    }
}

/// Handles an unused `Esc`: goes one level back.
fn back_out(model: &mut Model, key: &KeyEvent) -> Vec<Effect> {
    if key.code != KeyCode::Esc {
        return Vec::new();
    }
    if model.focus == Panel::Models && model.refusal_sign.hide(&model.snapshot) {
        return Vec::new();
    }
    let is_back = match model.focus {
        Panel::Streams => actions::streams::back(model),
        Panel::Time => actions::time::back(model),
        Panel::Requests => actions::requests::back(model),
        _ => false,
    };
    if is_back {
        return Vec::new();
    }
    if !actions::leave_alone(model) {
        actions::streams::go_live(model);
    }
    Vec::new()
}

fn on_preview(state: &mut ConsoleState, about: &Setup, preview: &Result<EditPreview, Refusal>) {
    if let Some(edit) = &mut state.model.edit {
        edit.answered(about, preview);
    }
    // Only the dialog about this setup gets the preview.
    for dialog in &mut state.dialogs {
        dialog.body_mut().previewed(about, preview);
    }
}

fn on_news(state: &mut ConsoleState, news: SessionNews) -> Vec<Effect> {
    let model = &mut state.model;
    if news.snapshot.audience.connection != model.snapshot.audience.connection {
        // The spans of the previous server have other times.
        model.timeline = Timeline::default();
        model.figures = FigureHistory::default();
        actions::streams::go_live(model);
        model.time.go_live();
        model.requests.release();
        model.say("attached again: the server is back", false);
    }
    on_spans(model, news.snapshot.now, news.spans, news.lost);
    let before = std::mem::replace(&mut model.snapshot, news.snapshot);
    model.model_cursor.follow(&model.snapshot.models);
    model.signs.follow(&model.snapshot.members);
    model.trends.follow(&model.snapshot);
    let begun = model
        .incidents
        .follow(model.snapshot.now, diagnose(&model.snapshot));
    let reload = model.snapshot.reload.clone();
    let otherwise = before.setup() != model.snapshot.setup();
    if before.generation != model.snapshot.generation {
        // Earlier spans stay, in the columns of the same names.
        let (old, new) = (before.matrix.frame(), model.snapshot.matrix.frame());
        let column = |name: &String| new.members.iter().position(|known| known == name);
        model
            .timeline
            .renumber(&old.members.iter().map(column).collect::<Vec<_>>());
        // The selected span belongs to earlier columns and steps.
        model.streams.reading = None;
        // The previous engine no longer reports the progress of its reload.
        state.dialogs.retain(|d| !matches!(d, Dialog::Reload(_)));
    }
    if before.matrix.frame() != model.snapshot.matrix.frame() {
        on_frame(state);
    }
    on_model_change(state, before.model_change.as_ref());
    if let Some(reload) = reload.filter(|r| Some(r) != before.reload.as_ref()) {
        on_reload(state, &reload);
    }
    let mut effects = match otherwise {
        true => ask_again(state),
        false => Vec::new(),
    };
    if state.model.follow_second() {
        effects.push(Effect::History);
    }
    let begun = begun.into_iter();
    effects.extend(begun.map(|incident| Effect::Notify(incident.text)));
    effects
}

/// Takes the figures of the whole session, which may end before the last second.
fn on_history(model: &mut Model, history: Option<FigureHistory>) {
    if let Some(history) = history {
        model.figures = history;
    }
    if let Some(second) = &model.snapshot.second {
        model.figures.push(second.clone());
    }
}

/// Handles other devices or members, such as of another server: staged changes and comparisons
/// refer to places that no longer exist.
fn on_frame(state: &mut ConsoleState) {
    state.dialogs.retain(|d| !d.body().is_of_frame());
    let model = &mut state.model;
    let frame = model.snapshot.matrix.frame();
    let cursor = &mut model.cursor;
    let last = frame.devices.len().saturating_sub(1);
    cursor.device = cursor.device.min(DeviceIndex::new(last));
    let last = frame.members.len().saturating_sub(1);
    cursor.member = cursor.member.min(MemberIndex::new(last));
    if model.edit.take().is_some() {
        model.say("other devices or members: staged changes are dropped", true);
    }
}

/// Requests the previews of setups again, since they were compared with an earlier setup.
fn ask_again(state: &mut ConsoleState) -> Vec<Effect> {
    if let Some(edit) = &mut state.model.edit {
        edit.ask_again();
    }
    for dialog in &mut state.dialogs {
        dialog.body_mut().renew();
    }
    let compared = state.dialogs.iter().filter_map(|d| d.body().compared());
    let previews = compared.map(|setup| Effect::Preview(Box::new(setup.clone())));
    previews.collect()
}

fn on_spans(model: &mut Model, now: Duration, spans: Vec<Span>, lost: u64) {
    // A recording was played backward, so earlier news follow. A clock across a socket may differ a
    // little.
    if now + SET_BACK < model.snapshot.now {
        model.timeline = Timeline::default();
        actions::streams::go_live(model);
    }
    model.snapshot.now = now;
    model.lost_spans = lost;
    model.timeline.extend(spans);
}

fn on_reload(state: &mut ConsoleState, reload: &ReloadView) {
    match &reload.state {
        ReloadState::Running => {}
        ReloadState::Done => {
            state.dialogs.retain(|d| !matches!(d, Dialog::Reload(_)));
            let text = format!("reload done in {}", format::duration(reload.elapsed));
            state.model.say(text, false);
        }
        ReloadState::Failed(reason) => {
            state.model.say(format!("reload failed: {reason}"), true);
        }
    }
}

/// Shows how a change of models ended, or the effects of a planned one.
fn on_model_change(state: &mut ConsoleState, before: Option<&ModelChangeView>) {
    let change = state.model.snapshot.model_change.clone();
    let Some(change) = change.filter(|change| Some(change) != before) else {
        return;
    };
    state.dialogs.retain(|d| !matches!(d, Dialog::Models(_)));
    state.model.refusal_sign.show(&state.model.snapshot);
    let what = &change.change;
    match &change.state {
        ModelChangeState::Planned(_) if is_editor(&state.model) => {
            state
                .dialogs
                .push(Dialog::Models(ModelPlan::new(change.number)));
        }
        ModelChangeState::Reading => state.model.say(format!("{what}: reading …"), false),
        ModelChangeState::UnderWay(_) => state.model.say(format!("{what}: in progress …"), false),
        ModelChangeState::Nothing => state.model.say(format!("{what}: nothing changes"), false),
        ModelChangeState::Refused(why) => state.model.say(format!("{what}: {why}"), true),
        ModelChangeState::Done(done) => {
            let took = format::duration(done.took);
            let gap = done.gap.map(format::duration);
            let gap = gap.map_or(String::new(), |gap| {
                format!(", no request started for {gap}")
            });
            state
                .model
                .say(format!("{what}: done in {took}{gap}"), false);
        }
        ModelChangeState::Planned(_) | ModelChangeState::Dropped => {}
    }
}

/// Returns whether this console may apply a plan: it may edit, and no recording is played.
fn is_editor(model: &Model) -> bool {
    let shown = &model.snapshot;
    !model.read_only && shown.playback.is_none() && shown.audience.you_edit
}

fn on_accepted(state: &mut ConsoleState, command: &Command) {
    let model = &mut state.model;
    if matches!(command, Command::Play(Play::Seek(_))) {
        // After a seek, the recording sends earlier spans again.
        model.timeline = Timeline::default();
        actions::streams::go_live(model);
    }
    if let Command::Apply(_, terms) = command {
        model.edit = None;
        model.change.terms = terms.unwrap_or(model.change.terms);
        let over = |d: &Dialog| matches!(d, Dialog::Compare(_) | Dialog::History(_));
        state.dialogs.retain(|d| !over(d));
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
        state.dialogs.push(Dialog::Reload(ReloadSteps { before }));
    }
    match command {
        Command::ClearLatency => model.cleared = model.snapshot.now,
        Command::StartRecording(_) => model.say("recording; r stops it", false),
        Command::StopRecording => match &model.snapshot.recording {
            Some(r) => model.say(format!("recorded to {}", r.path.display()), false),
            None => model.say("recording stopped", false),
        },
        Command::TakeEditing(true) => model.say("you edit; E releases editing", false),
        Command::TakeEditing(false) => model.say("others may edit", false),
        _ => {}
    }
    if matches!(command, Command::StartSearch(_)) {
        model.focus = Panel::Search;
    }
}

/// Returns whether the demonstration sent the command. Its steps show in the footer, since a dialog
/// would hide the panels.
fn is_of_demo(model: &Model, command: &Command) -> bool {
    let asked = model.demo.as_ref().is_some_and(|demo| demo.asked);
    asked && matches!(command, Command::Apply(..))
}
