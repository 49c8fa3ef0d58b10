//! What a demonstration is made of.

use std::time::Duration;

use super::conclusions::Conclusion;
use super::given::Given;
use crate::layout::Panel;
use crate::model::Figure;

/// One part of it, ending with a pause.
#[derive(Clone, Debug)]
pub struct DemoScene {
    /// A few words.
    pub title: &'static str,
    /// Done one after the other.
    pub steps: Vec<DemoStep>,
}

/// One step of a scene.
#[derive(Clone, Copy, Debug)]
pub enum DemoStep {
    /// Says what is done now, and nothing of what will come of it.
    Say(&'static str),
    /// Says what came of it, by what was measured.
    Conclude(Conclusion),
    /// Where to look.
    Look(Panel),
    /// Gives a command and waits until what it asks for is seen.
    Do(Given),
    /// Waits until no queue has anything left.
    Drain,
    /// Counts requests that are lost from here on.
    Count,
    /// Lets the session go on until there is enough to tell.
    Watch(DemoWatch),
    /// Takes what was served since the last watch began as the most that can be.
    Gauge,
    /// Writes down a figure under a name, to be compared with others of its kind.
    Note(Figure, &'static str),
}

/// How long to watch: until both are over, whatever the machine's speed.
#[derive(Clone, Copy, Debug)]
pub struct DemoWatch {
    /// Requests answered.
    pub answered: u64,
    /// Time of the session.
    pub lasts: Duration,
}
