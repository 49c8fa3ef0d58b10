//! All that a console is: what is drawn, what lies over it, and its demonstration.

use std::mem::{Discriminant, discriminant};

use divisi::session::Snapshot;

use super::consent::Consent;
use crate::actions::{self, FollowUp};
use crate::commands::Binding;
use crate::demo::Player;
use crate::dialogs::{Dialog, Picker};
use crate::look::TerminalLook;
use crate::model::{Effect, Model, Options};

/// The console's whole state.
#[derive(Clone, Debug)]
pub struct ConsoleState {
    /// What is drawn.
    pub model: Model,
    /// What lies over the panels, the last on top.
    pub dialogs: Vec<Dialog>,
    /// Whether a key may answer the dialog on top.
    pub consent: Consent,
    player: Option<Player>,
}

impl ConsoleState {
    /// The state at the start.
    pub fn new(snapshot: Snapshot, options: &Options, look: TerminalLook) -> Self {
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
    pub fn top(&self) -> (usize, Option<Discriminant<Dialog>>) {
        (self.dialogs.len(), self.dialogs.last().map(discriminant))
    }

    /// Returns the picker, where it is open.
    pub fn picker(&mut self) -> Option<&mut Picker> {
        self.dialogs.iter_mut().rev().find_map(|d| match d {
            Dialog::Picker(picker) => Some(picker.as_mut()),
            _ => None,
        })
    }

    /// Does a command, or says why it cannot be done.
    pub fn run(&mut self, binding: &Binding) -> Vec<Effect> {
        let next = actions::run(&mut self.model, binding);
        self.follow(next)
    }

    /// Opens what a command leaves to be asked; returns the effects.
    pub fn follow(&mut self, next: FollowUp) -> Vec<Effect> {
        self.dialogs.extend(next.dialog);
        next.effects
    }

    /// Lets the demonstration go on, as far as what is shown allows.
    pub fn play(&mut self) -> Vec<Effect> {
        match &self.player {
            Some(player) => player.proceed(&mut self.model),
            None => Vec::new(),
        }
    }

    /// Lets a scene begin that a command has gone to: where nothing is served, news come
    /// late.
    pub fn play_if_begun(&mut self) -> Vec<Effect> {
        let begun = self.model.demo.as_ref().is_some_and(|demo| demo.begun);
        if begun { self.play() } else { Vec::new() }
    }
}
