//! The state of a demonstration: its scene, its caption, its measurements.

use std::str::FromStr;
use std::time::Duration;

use divisi_session::Counters;

use super::figures::{CounterLook, FigureNote};

/// The subject of a demonstration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoStage {
    /// The digits ensemble on this machine's devices.
    Digits,
    /// Twelve ImageNet networks on 16 simulated GPUs.
    Simulated,
    /// Variants of the digits ensemble, chosen by goals, on this machine's devices.
    Tasks,
}

impl FromStr for DemoStage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "digits" => Ok(DemoStage::Digits),
            "simulated" => Ok(DemoStage::Simulated),
            "tasks" => Ok(DemoStage::Tasks),
            _ => Err(format!(
                "expected digits, simulated or tasks, found `{text}`"
            )),
        }
    }
}

/// A requested demonstration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its subject.
    pub stage: DemoStage,
    /// Whether it continues without keys at the end of each scene.
    pub auto: bool,
}

/// The state of a demonstration.
#[derive(Clone, Debug)]
pub struct DemoState {
    /// The titles of its scenes.
    titles: Vec<&'static str>,
    /// Its subject, and whether it continues without keys and starts over after the last scene.
    pub wanted: Wanted,
    scene: usize,
    /// Whether a command has gone to this scene, which has not begun yet.
    pub begun: bool,
    /// The current step of the scene.
    pub step: usize,
    /// Whether the request of this step was sent.
    pub asked: bool,
    /// The current caption.
    pub caption: String,
    /// Readings of the counter of answers since the last watch began, oldest first.
    pub looks: Vec<CounterLook>,
    /// The answered requests of the current watch, and their goal.
    pub watched: Option<(u64, u64)>,
    /// The measured capacity of the running setup in samples per second.
    pub capacity: Option<f64>,
    /// The counters when the scene last started counting.
    pub began: Option<Counters>,
    /// The noted figures of all scenes.
    pub notes: Vec<FigureNote>,
    /// The reason why the scene cannot continue.
    pub trouble: Option<String>,
    /// The time at which the scene ended.
    pub ended: Option<Duration>,
}

impl DemoState {
    /// Creates the state at the start of the first scene.
    pub fn new(wanted: Wanted, titles: Vec<&'static str>) -> Self {
        DemoState {
            titles,
            wanted,
            scene: 0,
            begun: false,
            step: 0,
            asked: false,
            caption: String::new(),
            looks: Vec::new(),
            watched: None,
            capacity: None,
            began: None,
            notes: Vec::new(),
            trouble: None,
            ended: None,
        }
    }

    /// Goes to the start of a scene and discards its figures.
    pub fn go_to(&mut self, scene: usize) {
        self.notes.retain(|note| note.scene != scene);
        *self = DemoState {
            notes: std::mem::take(&mut self.notes),
            scene,
            begun: true,
            ..DemoState::new(self.wanted, std::mem::take(&mut self.titles))
        };
    }

    /// Goes to the next step of the scene.
    pub fn finish_step(&mut self) {
        self.step += 1;
        self.asked = false;
        self.watched = None;
    }

    /// Returns the current scene, from 0.
    pub fn scene(&self) -> usize {
        self.scene
    }

    /// Returns the number of scenes.
    pub fn scenes(&self) -> usize {
        self.titles.len()
    }

    /// Returns the title of the scene.
    pub fn title(&self) -> &'static str {
        self.titles.get(self.scene).copied().unwrap_or_default()
    }

    /// Returns the current caption.
    pub fn caption(&self) -> &str {
        &self.caption
    }

    /// Returns whether this is the last scene.
    pub fn is_last(&self) -> bool {
        self.scene + 1 >= self.titles.len()
    }

    /// Returns the state that the bar shows in addition to the session's. The picture is drawn
    /// again if it differs.
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
}
