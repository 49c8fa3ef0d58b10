//! The console without its terminal: a session, a model, and what ties them.

use divisi::session::{Session, Snapshot};
use ratatui::buffer::Buffer;

use super::demo::Demo;
use super::effect::{self, ConsoleEvent, Effect, SessionNews};
use super::model::Model;
use super::theme::TerminalLook;
use super::update::update;
use super::{Options, panels};
use crate::config::Settings;

/// A console on some session, drawn wherever the caller wants.
pub struct Console {
    session: Box<dyn Session>,
    model: Model,
}

impl Console {
    /// A console that shows the session as of now.
    pub fn new(mut session: Box<dyn Session>, options: &Options, look: TerminalLook) -> Self {
        let model = Model::new(session.snapshot(), options, look);
        Console { session, model }
    }

    /// Takes what is configured, at the start.
    pub fn configure(&mut self, settings: Settings) {
        self.model.configure(settings);
    }

    /// What is drawn.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Takes the event in and does what it asks of the session; what it asks of the
    /// terminal is given back.
    pub fn handle(&mut self, event: ConsoleEvent) -> Vec<Effect> {
        let mut left = Vec::new();
        let mut wanted = update(&mut self.model, event);
        // An answer of the session may want something in turn.
        while !wanted.is_empty() {
            let mut next = Vec::new();
            for effect in wanted {
                match effect::perform(effect, self.session.as_mut()) {
                    Ok(answer) => next.extend(update(&mut self.model, answer)),
                    Err(effect) => left.push(effect),
                }
            }
            wanted = next;
        }
        left
    }

    /// What was drawn has come to the screen: only what is seen can be answered.
    pub fn seen(&mut self) {
        self.model.consent.see();
    }

    /// Asks the session for news; whether the picture may differ now.
    pub fn refresh(&mut self) -> bool {
        let mut spans = Vec::new();
        let lost = self.session.drain_spans(&mut spans);
        let mut snapshot = self.session.snapshot();
        rest(&mut self.model.snapshot, &snapshot);
        let now = std::mem::replace(&mut snapshot.now, self.model.snapshot.now);
        let same = snapshot == self.model.snapshot && lost == self.model.lost_spans;
        snapshot.now = now;
        let differs = self.model.flows_until(snapshot.now, !spans.is_empty());
        let stood = self.model.demo.as_ref().map(Demo::stands);
        self.handle(ConsoleEvent::News(Box::new(SessionNews {
            snapshot,
            spans,
            lost,
        })));
        !same || differs || stood != self.model.demo.as_ref().map(Demo::stands)
    }

    /// Asks the session for spans and the time alone, which come with every frame;
    /// whether the picture differs now.
    pub fn follow(&mut self) -> bool {
        let mut spans = Vec::new();
        let lost = self.session.drain_spans(&mut spans);
        let now = self.session.now();
        let differs = self.model.flows_until(now, !spans.is_empty())
            || lost != self.model.lost_spans
            || now < self.model.snapshot.now;
        self.handle(ConsoleEvent::Spans { now, spans, lost });
        differs
    }

    /// Draws the whole screen.
    pub fn draw(&self, buffer: &mut Buffer) {
        panels::draw(&self.model, buffer);
    }
}

/// Series of nothing grow with time and show nothing: that is no change.
fn rest(before: &mut Snapshot, now: &Snapshot) {
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
