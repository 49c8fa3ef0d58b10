//! A guided demonstration: scenes with captions on the real console.
//!
//! A script is data ([`script`]); [`drive`] goes through it by what snapshots show, never
//! by a clock of its own, and asks for everything as a person does, so that it can be
//! undone; [`bar`] draws captions and figures under the panels.

mod bar;
mod conclusions;
mod drive;
mod figures;
mod measured;
mod plans;
mod scenes;
mod script;
mod words;

pub use bar::{above, draw};
pub use drive::{on_news, refused};
pub use scenes::DemoStage;

use std::time::Duration;

use divisi::session::Counters;

use figures::FigureNote;
use measured::CounterLook;
use script::DemoScene;

/// Where a demonstration stands.
#[derive(Clone, Debug)]
pub struct Demo {
    scenes: Vec<DemoScene>,
    /// It goes on by itself at the end of a scene, and begins again after the last.
    auto: bool,
    scene: usize,
    step: usize,
    /// What this step asked for is under way.
    asked: bool,
    /// What is said now.
    caption: String,
    /// What had been answered since the last watch began, the beginning first.
    looks: Vec<CounterLook>,
    /// Samples a second that what runs now was seen to serve at most.
    capacity: Option<f64>,
    /// Counters when the scene last began to count.
    began: Option<Counters>,
    notes: Vec<FigureNote>,
    /// Why the scene cannot go on.
    trouble: Option<String>,
    /// When the scene ended.
    ended: Option<Duration>,
}

/// How a demonstration is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What it is shown on.
    pub stage: DemoStage,
    /// It goes on by itself at the end of each scene.
    pub auto: bool,
}

impl Demo {
    /// At the start of the first scene.
    pub fn new(wanted: Wanted) -> Self {
        Demo {
            scenes: scenes::of(wanted.stage),
            auto: wanted.auto,
            scene: 0,
            step: 0,
            asked: false,
            caption: String::new(),
            looks: Vec::new(),
            capacity: None,
            began: None,
            notes: Vec::new(),
            trouble: None,
            ended: None,
        }
    }

    /// The scene that is shown, from 0.
    pub fn scene(&self) -> usize {
        self.scene
    }

    /// Whether what it asked for last is under way.
    pub fn has_asked(&self) -> bool {
        self.asked
    }

    /// To the start of scene number `scene`, whose figures are taken anew.
    pub fn go_to(&mut self, scene: usize) {
        self.notes.retain(|note| note.scene != scene);
        *self = Demo {
            scenes: std::mem::take(&mut self.scenes),
            notes: std::mem::take(&mut self.notes),
            scene,
            ..Demo::new(Wanted {
                stage: DemoStage::Digits,
                auto: self.auto,
            })
        };
    }

    /// What is said now.
    pub fn caption(&self) -> &str {
        &self.caption
    }

    /// What its bar shows beside what the session shows: where it differs, so does the
    /// picture.
    pub fn stands(&self) -> impl PartialEq + use<> {
        let ended = self.ended.is_some();
        (
            self.scene,
            self.step,
            self.caption.clone(),
            self.trouble.clone(),
            ended,
        )
    }

    /// Whether no scene comes after this one.
    pub fn is_last(&self) -> bool {
        self.scene + 1 >= self.scenes.len()
    }
}
