//! What a console can ask for.

use std::num::NonZeroU32;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::allocation::Difference;
use crate::changes::Terms;
use crate::load::LoadPattern;
use crate::search::Method;
use crate::serving::Setup;

use super::target::Target;
use super::watching::Play;
use crate::ranged::ranged;

ranged! {
    /// How many times as long a simulated device's operations take.
    Slowdown(f64) = 0.1, 100.0, "{} to {} times"
}

/// A request to the engine behind the console.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Replace what runs while serving; with terms, it comes back where the new does
    /// worse.
    Apply(Box<Setup>, Option<Terms>),
    /// End the probation: what was applied stays (`true`), or goes (`false`).
    EndProbation(bool),
    /// Bring back what ran before the last change.
    Undo,
    /// Run again what the last undo took back.
    Redo,
    /// What latencies are judged by.
    SetTarget(Option<Target>),
    /// Whether a member's answers count; it runs either way.
    SetVote(usize, bool),
    /// At most so many samples alive on a device under `elastic`; none: the policy's.
    SetMaxInf(usize, Option<NonZeroU32>),
    /// Let a simulated device disappear: it is evacuated.
    LoseDevice(usize),
    /// Let a lost device come back, empty.
    RegainDevice(usize),
    /// Let the operations of a simulated device take so many times as long.
    SlowDevice(usize, Slowdown),
    StartLoad(LoadPattern),
    StopLoad,
    StartSearch(Method),
    PauseSearch,
    ResumeSearch,
    CancelSearch,
    /// Forget latencies so far, to see what comes.
    ClearLatency,
    /// Write all that is shown to a file from now on.
    StartRecording(PathBuf),
    StopRecording,
    /// Play a recording otherwise.
    Play(Play),
    /// Where several watch: be the one who may change things (`true`), or let others.
    TakeEditing(bool),
    /// Go on serving in the background when this console leaves.
    KeepServing,
}

/// What applying a matrix would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EditPreview {
    pub difference: Difference,
    /// Booked bytes of each device's memory now and after.
    pub memory: Vec<(u64, u64)>,
    /// Whether new workers are ready before old ones drain; otherwise members
    /// named here have no worker for a moment and their requests wait.
    pub paused_members: Vec<String>,
    /// What changes beside the matrix, in words: `policy: no-wait → elastic`.
    pub settings: Vec<String>,
    pub prediction: Prediction,
}

/// Samples a second that a model expects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Of what runs, and of what would.
    pub before: Option<f64>,
    pub after: Option<f64>,
    /// Where it comes from, or why there is none.
    pub source: String,
}
