//! The state of a console: the model, the dialogs and the demonstration.

use std::mem::{Discriminant, discriminant};

use divisi_session::{Refusal, Snapshot, WhatIf, WhatIfReply};

use crate::actions::{self, FollowUp};
use crate::commands::{Binding, Key};
use crate::demo;
use crate::dialogs::{Dialog, Picker};
use crate::look::TerminalLook;
use crate::model::{Effect, Model, Options};

/// The console's whole state.
#[derive(Clone, Debug)]
pub(super) struct ConsoleState {
    /// The model to draw.
    pub model: Model,
    /// The dialogs over the panels, the last on top.
    pub dialogs: Vec<Dialog>,
    /// Whether a key may answer the top dialog.
    pub consent: Consent,
    /// The number of answered what-if questions.
    pub answered: u64,
}

impl ConsoleState {
    /// Creates the initial state.
    pub(super) fn new(snapshot: Snapshot, options: &Options, look: TerminalLook) -> Self {
        let mut model = Model::new(snapshot, options, look);
        model.demo = options.demo.map(demo::begin);
        ConsoleState {
            model,
            dialogs: Vec::new(),
            consent: Consent::default(),
            answered: 0,
        }
    }

    /// Returns the number of dialogs and the kind of the top one.
    pub(super) fn top(&self) -> (usize, Option<Discriminant<Dialog>>) {
        (self.dialogs.len(), self.dialogs.last().map(discriminant))
    }

    /// Returns the what-if questions that dialogs ask now.
    pub(super) fn questions(&mut self, again: bool) -> Vec<Effect> {
        let dialogs = self.dialogs.iter_mut();
        let questions = dialogs.flat_map(|dialog| dialog.body_mut().questions(again));
        questions.map(Effect::Ask).collect()
    }

    /// Passes the reply to a question to the dialogs.
    pub(super) fn answer(&mut self, about: &WhatIf, reply: &Result<WhatIfReply, Refusal>) {
        self.answered += u64::from(!matches!(reply, Ok(WhatIfReply::Computing)));
        for dialog in &mut self.dialogs {
            dialog.body_mut().answered(about, reply);
        }
    }

    /// Returns the picker, if it is open.
    pub(super) fn picker(&mut self) -> Option<&mut Picker> {
        self.dialogs.iter_mut().rev().find_map(|d| match d {
            Dialog::Picker(picker) => Some(picker.as_mut()),
            _ => None,
        })
    }

    /// Runs a command, or shows why it cannot run.
    pub(super) fn run(&mut self, binding: &Binding) -> Vec<Effect> {
        let next = actions::run(&mut self.model, binding);
        self.follow(next)
    }

    /// Opens the dialog of a command's follow-up and returns the effects.
    pub(super) fn follow(&mut self, next: FollowUp) -> Vec<Effect> {
        self.dialogs.extend(next.dialog);
        next.effects
    }

    /// Advances the demonstration as far as the current snapshot allows.
    pub(super) fn play(&mut self) -> Vec<Effect> {
        demo::proceed(&mut self.model)
    }

    /// Starts a scene that a command has gone to. While nothing is served, news arrive late.
    pub(super) fn play_if_begun(&mut self) -> Vec<Effect> {
        let begun = self.model.demo.as_ref().is_some_and(|demo| demo.begun);
        if begun { self.play() } else { Vec::new() }
    }
}

/// How the top dialog was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Consent {
    /// The last pressed key.
    last: Option<Key>,
    /// The key that opened the dialog, until another is pressed.
    opener: Option<Key>,
    /// Whether the dialog has been on the screen.
    seen: bool,
    /// The number of changes of the top dialog.
    questions: u64,
}

impl Consent {
    /// Handles a key press.
    pub(super) fn press(&mut self, key: Key) {
        self.last = Some(key);
        self.opener = self.opener.filter(|opener| *opener == key);
    }

    /// Handles a new top dialog, opened by the last key.
    pub(super) fn ask(&mut self) {
        self.opener = self.last;
        self.seen = false;
        self.questions = self.questions.saturating_add(1);
    }

    /// Returns the number of changes of the top dialog.
    pub(super) fn questions(&self) -> u64 {
        self.questions
    }

    /// Marks the screen as drawn.
    pub(super) fn see(&mut self) {
        self.seen = true;
    }

    /// Returns why the last key is not an answer, or `None` if it is one.
    pub(super) fn refusal(&self) -> Option<String> {
        if !self.seen {
            return Some("key pressed before the question appeared: read it, then press".into());
        }
        let opener = self.opener?.label();
        Some(format!(
            "{opener} opened this dialog: press another key first"
        ))
    }
}
