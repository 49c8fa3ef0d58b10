//! Where a demonstration stands: its scene, what is said, what was measured.

use std::str::FromStr;
use std::time::Duration;

use divisi_session::Counters;

use super::figures::{CounterLook, FigureNote};

/// The stage of a demonstration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoStage {
    /// The digits ensemble on this machine's devices.
    Digits,
    /// Twelve networks of ImageNet on 16 simulated GPUs.
    Simulated,
    /// Variants of the digits ensemble, which queries ask for by goals, on this machine's devices.
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

/// How a demonstration is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The stage that it is shown on.
    pub stage: DemoStage,
    /// It goes on by itself at the end of each scene.
    pub auto: bool,
}

/// Where a demonstration stands.
#[derive(Clone, Debug)]
pub struct DemoState {
    /// The titles of its scenes.
    titles: Vec<&'static str>,
    /// It goes on by itself at the end of a scene, and begins again after the last.
    pub auto: bool,
    scene: usize,
    /// A command has gone to this scene, which has not begun yet.
    pub begun: bool,
    /// The step of the scene.
    pub step: usize,
    /// Whether the request of this step is under way.
    pub asked: bool,
    /// The caption that is shown now.
    pub caption: String,
    /// Readings of the counter of answers since the last watch began, oldest first.
    pub looks: Vec<CounterLook>,
    /// Of the present watch: requests answered, of how many.
    pub watched: Option<(u64, u64)>,
    /// Samples a second that what runs now was seen to serve at most.
    pub capacity: Option<f64>,
    /// Counters when the scene last began to count.
    pub began: Option<Counters>,
    /// Figures that were taken, of all scenes.
    pub notes: Vec<FigureNote>,
    /// Why the scene cannot go on.
    pub trouble: Option<String>,
    /// When the scene ended.
    pub ended: Option<Duration>,
}

impl DemoState {
    /// The start of the first scene.
    pub fn new(titles: Vec<&'static str>, auto: bool) -> Self {
        DemoState {
            titles,
            auto,
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

    /// Goes to the start of a scene, whose figures are taken anew.
    pub fn go_to(&mut self, scene: usize) {
        self.notes.retain(|note| note.scene != scene);
        *self = DemoState {
            notes: std::mem::take(&mut self.notes),
            scene,
            begun: true,
            ..DemoState::new(std::mem::take(&mut self.titles), self.auto)
        };
    }

    /// The scene that is shown, from 0.
    pub fn scene(&self) -> usize {
        self.scene
    }

    /// How many scenes there are.
    pub fn scenes(&self) -> usize {
        self.titles.len()
    }

    /// The title of the scene.
    pub fn title(&self) -> &'static str {
        self.titles.get(self.scene).copied().unwrap_or_default()
    }

    /// Returns the caption that is shown now.
    pub fn caption(&self) -> &str {
        &self.caption
    }

    /// Returns whether no scene comes after this one.
    pub fn is_last(&self) -> bool {
        self.scene + 1 >= self.titles.len()
    }

    /// Returns the state that the bar shows in addition to the session's.
    /// The picture is to be drawn again if it differs.
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
