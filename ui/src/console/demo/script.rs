//! What a demonstration is made of.

use std::time::Duration;

use divisi::ensemble::PolicyKind;

use super::conclusions::Conclusion;
use super::figures::Figure;
use super::plans::DemoPlan;
use crate::console::model::Panel;

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
    /// Serves by another matrix.
    Apply(DemoPlan),
    /// Batches otherwise.
    Policy(PolicyKind),
    /// Sends other requests.
    Load(DemoLoad),
    /// Waits until no queue has anything left.
    Drain,
    /// Forgets latencies so far.
    Clear,
    /// Counts requests that are lost from here on.
    Count,
    /// Lets the session go on until there is enough to tell.
    Watch(DemoWatch),
    /// Takes what was served since the last watch began as the most that can be.
    Gauge,
    /// Writes down a figure under a name, to be compared with others of its kind.
    Note(Figure, &'static str),
    /// Searches, and waits for the end.
    Search,
}

/// The requests that are sent.
#[derive(Clone, Copy, Debug)]
pub enum DemoLoad {
    /// None.
    Stop,
    /// Clients that send again once they are answered: as much as can be served.
    Full {
        /// How many.
        clients: usize,
        /// In each request.
        samples: usize,
    },
    /// At random moments, this share of what was gauged.
    Poisson(f64),
    /// Slowly, then fast at this share of what was gauged, and again.
    Burst(f64),
}

/// How long to watch: until both are over, whatever the machine's speed.
#[derive(Clone, Copy, Debug)]
pub struct DemoWatch {
    /// Requests answered.
    pub answered: u64,
    /// Time of the session.
    pub lasts: Duration,
}
