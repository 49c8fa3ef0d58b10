//! All that a console is: what is drawn, what lies over it, and its demonstration.

use std::mem::{Discriminant, discriminant};

use divisi_session::Snapshot;

use crate::actions::{self, FollowUp};
use crate::commands::{Binding, Key};
use crate::demo::Player;
use crate::dialogs::{Dialog, Picker};
use crate::look::TerminalLook;
use crate::model::{Effect, Model, Options};

/// The console's whole state.
#[derive(Clone, Debug)]
pub(super) struct ConsoleState {
    /// The model that is drawn.
    pub model: Model,
    /// The dialogs over the panels, the last on top.
    pub dialogs: Vec<Dialog>,
    /// Whether a key may answer the dialog on top.
    pub consent: Consent,
    player: Option<Player>,
}

impl ConsoleState {
    /// The state at the start.
    pub(super) fn new(snapshot: Snapshot, options: &Options, look: TerminalLook) -> Self {
        let mut model = Model::new(snapshot, options, look);
        let demo = options.demo.map(Player::new);
        let (player, state) = demo.unzip();
        model.demo = state;
        ConsoleState {
            model,
            dialogs: Vec::new(),
            consent: Consent::default(),
            player,
        }
    }

    /// Returns how many dialogs there are, and of which kind the one on top is.
    pub(super) fn top(&self) -> (usize, Option<Discriminant<Dialog>>) {
        (self.dialogs.len(), self.dialogs.last().map(discriminant))
    }

    /// Returns the picker, where it is open.
    pub(super) fn picker(&mut self) -> Option<&mut Picker> {
        self.dialogs.iter_mut().rev().find_map(|d| match d {
            Dialog::Picker(picker) => Some(picker.as_mut()),
            _ => None,
        })
    }

    /// Does a command, or says why it cannot be done.
    pub(super) fn run(&mut self, binding: &Binding) -> Vec<Effect> {
        let next = actions::run(&mut self.model, binding);
        self.follow(next)
    }

    /// Opens what a command leaves to be asked; returns the effects.
    pub(super) fn follow(&mut self, next: FollowUp) -> Vec<Effect> {
        self.dialogs.extend(next.dialog);
        next.effects
    }

    /// Lets the demonstration go on, as far as what is shown allows.
    pub(super) fn play(&mut self) -> Vec<Effect> {
        match &self.player {
            Some(player) => player.proceed(&mut self.model),
            None => Vec::new(),
        }
    }

    /// Lets a scene begin that a command has gone to: where nothing is served, news come
    /// late.
    pub(super) fn play_if_begun(&mut self) -> Vec<Effect> {
        let begun = self.model.demo.as_ref().is_some_and(|demo| demo.begun);
        if begun { self.play() } else { Vec::new() }
    }
}

/// How the dialog on top came there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Consent {
    /// The key that was pressed last.
    last: Option<Key>,
    /// The key that opened the dialog, until another is pressed.
    opener: Option<Key>,
    /// The dialog has been on the screen.
    seen: bool,
}

impl Consent {
    /// A key was pressed.
    pub(super) fn press(&mut self, key: Key) {
        self.last = Some(key);
        self.opener = self.opener.filter(|opener| *opener == key);
    }

    /// Another dialog is on top now, by the key that was pressed last.
    pub(super) fn ask(&mut self) {
        self.opener = self.last;
        self.seen = false;
    }

    /// All that is there was drawn.
    pub(super) fn see(&mut self) {
        self.seen = true;
    }

    /// Why the key that was pressed last is no answer; `None` if it is one.
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
