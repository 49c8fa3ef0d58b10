//! What a console can ask for.

use std::num::NonZeroU32;

use thiserror::Error;

use crate::allocation::{Difference, Matrix};
use crate::ensemble::PolicyKind;
use crate::load::LoadPattern;
use crate::search::Method;

/// A request to the engine behind the console.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Replace the running matrix while serving.
    Apply(Matrix),
    /// Bring back the matrix that ran before the last change.
    Undo,
    /// Run again what the last undo took back.
    Redo,
    SetPolicy(PolicyKind),
    /// At most so many samples alive on a device under `elastic`; none: the policy's.
    SetMaxInf(usize, Option<NonZeroU32>),
    /// Let a simulated device disappear: it is evacuated.
    LoseDevice(usize),
    /// Let a lost device come back, empty.
    RegainDevice(usize),
    /// Let the operations of a simulated device take so many times as long.
    SlowDevice(usize, f64),
    StartLoad(LoadPattern),
    StopLoad,
    StartSearch(Method),
    PauseSearch,
    ResumeSearch,
    CancelSearch,
    /// Forget latencies so far, to see what comes.
    ClearLatency,
}

/// What applying a matrix would change.
#[derive(Clone, Debug, PartialEq)]
pub struct EditPreview {
    pub difference: Difference,
    /// Booked bytes of each device's memory now and after.
    pub memory: Vec<(u64, u64)>,
    /// Whether new workers are ready before old ones drain; otherwise members
    /// named here have no worker for a moment and their requests wait.
    pub paused_members: Vec<String>,
}

/// A command was not taken; says why.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Refusal(pub String);
