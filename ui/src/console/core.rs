//! The console without its terminal: a session and a model, and the effects on the session and on
//! files.

use divisi_session::{Session, Snapshot, arrange};
use ratatui::buffer::Buffer;

use super::state::ConsoleState;
use super::update::update;
use super::{draw, pace};
use crate::config::{self, Settings};
use crate::dialogs::Dialog;
use crate::files;
use crate::layout::Panel;
use crate::look::TerminalLook;
use crate::model::{ConsoleEvent, DemoState, Effect, Model, Options, SessionNews};
use crate::text::WallClock;

/// A console on a session, drawn into any buffer.
pub struct Console {
    session: Box<dyn Session>,
    state: ConsoleState,
    /// Effects on the terminal of the session's news, not yet carried out.
    pending: Vec<Effect>,
}

impl Console {
    /// Creates a console that shows the session's current state.
    pub fn new(mut session: Box<dyn Session>, options: &Options, look: TerminalLook) -> Self {
        let state = ConsoleState::new(session.snapshot(), options, look);
        Console {
            session,
            state,
            pending: Vec::new(),
        }
    }

    /// Applies the initial configuration.
    pub fn configure(&mut self, settings: Settings) {
        self.state.model.configure(settings);
    }

    /// Shows times of day by another clock than that of UTC.
    pub fn set_clock(&mut self, clock: WallClock) {
        self.state.model.clock = clock;
    }

    /// Returns the model to draw.
    pub fn model(&self) -> &Model {
        &self.state.model
    }

    /// Returns the dialogs over the panels, the last on top.
    pub fn dialogs(&self) -> &[Dialog] {
        &self.state.dialogs
    }

    /// Handles an event and carries its effects on the session out. Returns the effects on the
    /// terminal.
    pub fn handle(&mut self, event: ConsoleEvent) -> Vec<Effect> {
        let mut left = Vec::new();
        let mut wanted = update(&mut self.state, event);
        // An answer of the session may cause further effects.
        while !wanted.is_empty() {
            let mut next = Vec::new();
            for effect in wanted {
                match for_session(effect, self.session.as_mut()) {
                    Ok(answer) => next.extend(update(&mut self.state, answer)),
                    Err(Effect::Picture) => left.extend(draw::pictures(&self.state)),
                    Err(effect) => left.push(effect),
                }
            }
            wanted = next;
        }
        left
    }

    /// Marks the last picture as shown. Only a dialog that was shown can be answered.
    pub fn mark_seen(&mut self) {
        self.state.consent.see();
    }

    /// Returns the number of changes of the top dialog, which tells pictures without the current one
    /// from pictures with it.
    pub fn questions(&self) -> u64 {
        self.state.consent.questions()
    }

    /// Takes news from the session. Returns whether the picture may differ.
    pub fn refresh(&mut self) -> bool {
        let mut spans = Vec::new();
        let lost = self.session.drain_spans(&mut spans);
        let mut snapshot = self.session.snapshot();
        rest(&mut self.state.model, &snapshot);
        let now = std::mem::replace(&mut snapshot.now, self.state.model.snapshot.now);
        let same = snapshot == self.state.model.snapshot && lost == self.state.model.lost_spans;
        snapshot.now = now;
        let differs = pace::streams_differ(&self.state.model, snapshot.now, !spans.is_empty());
        let answered = self.state.answered;
        let stood = self.state.model.demo.as_ref().map(DemoState::stands);
        let effects = self.handle(ConsoleEvent::News(Box::new(SessionNews {
            snapshot,
            spans,
            lost,
        })));
        self.pending.extend(effects);
        let is_answered = answered != self.state.answered;
        !same
            || differs
            || is_answered
            || stood != self.state.model.demo.as_ref().map(DemoState::stands)
    }

    /// Returns the effects on the terminal of the last news, once.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.pending)
    }

    /// Takes spans and the time from the session, for every frame. Returns whether the picture
    /// differs.
    pub fn follow(&mut self) -> bool {
        let mut spans = Vec::new();
        let lost = self.session.drain_spans(&mut spans);
        let now = self.session.now();
        let differs = pace::streams_differ(&self.state.model, now, !spans.is_empty())
            || lost != self.state.model.lost_spans
            || now < self.state.model.snapshot.now;
        self.handle(ConsoleEvent::Spans { now, spans, lost });
        differs
    }

    /// Draws the whole screen.
    pub fn draw(&self, buffer: &mut Buffer) {
        draw::draw(&self.state, buffer);
    }
}

/// Empty series grow with time and show nothing, so they do not count as a change, nor does the last
/// second if the figures over time are not on the screen.
fn rest(model: &mut Model, now: &Snapshot) {
    if !pace::shows(model, Panel::Time) {
        model.snapshot.second.clone_from(&now.second);
    }
    let before = &mut model.snapshot;
    if rests(before) && rests(now) && before.members.len() == now.members.len() {
        before.throughput.series.clone_from(&now.throughput.series);
        for (old, new) in before.members.iter_mut().zip(&now.members) {
            old.series.clone_from(&new.series);
        }
    }
}

fn rests(shown: &Snapshot) -> bool {
    let members = shown.members.iter().flat_map(|m| &m.series);
    shown.throughput.series.iter().all(|s| *s == 0.0) && members.into_iter().all(|s| *s == 0.0)
}

/// Carries an effect on the session out and returns its answer.
///
/// # Errors
/// The effect, if it does not concern the session.
fn for_session(effect: Effect, session: &mut dyn Session) -> Result<ConsoleEvent, Effect> {
    match effect {
        Effect::Send(command) => Ok(match session.command(command.clone()) {
            Ok(()) => ConsoleEvent::Accepted(command),
            Err(refusal) => ConsoleEvent::Refused(refusal.to_string()),
        }),
        Effect::Preview(setup) => {
            let preview = session.preview(&setup);
            Ok(ConsoleEvent::Previewed(setup, preview))
        }
        Effect::History => Ok(ConsoleEvent::History(session.history().ok())),
        Effect::Ask(question) => {
            let reply = session.what_if(&question);
            Ok(ConsoleEvent::Answered(question, reply))
        }
        Effect::Arrange(setup, arrangement) => {
            let arranged = arrange(session, &setup, arrangement);
            Ok(ConsoleEvent::Arranged(setup, arranged))
        }
        other => Err(other),
    }
}

/// Carries an effect on files out and returns its answer.
///
/// # Errors
/// The effect, if it does not concern files.
pub fn for_files(effect: Effect) -> Result<ConsoleEvent, Effect> {
    match effect {
        Effect::SaveLayout(layout) => {
            let wrote = config::save_layout(&layout);
            Ok(ConsoleEvent::Wrote(wrote.map_err(|e| e.to_string())))
        }
        Effect::Look(path) => Ok(ConsoleEvent::Looked(files::list_path(&path))),
        Effect::Read(path) => {
            let text = files::read(&path);
            Ok(ConsoleEvent::Read(path, text))
        }
        Effect::Write {
            path,
            bytes,
            replace,
        } => Ok(ConsoleEvent::Wrote(files::write(&path, &bytes, replace))),
        other => Err(other),
    }
}
