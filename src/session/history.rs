//! What ran when and how it did, and what changed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::guard::Measured;
use super::setup::Setup;

/// One setup that ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// Counted from 1 since the engine's start; never reused.
    pub number: u64,
    pub setup: Setup,
    /// Time since the engine's start.
    pub from: Duration,
    /// None while it runs.
    pub until: Option<Duration>,
    /// How it came: `start`, `applied`, `undo`, `search`, `evacuation`, `rolled back: …`.
    pub why: String,
    pub did: Measured,
}

/// Something that changed how serving goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Time since the engine's start.
    pub at: Duration,
    pub kind: MarkKind,
    /// A few words.
    pub text: String,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MarkKind {
    Reload,
    Policy,
    Combination,
    Load,
    Device,
    Rollback,
}
