//! A search seen and steered from outside: pause, cancel, progress.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::allocation::{Cell, Matrix};
use crate::ensemble::BatchSize;
use crate::lock::lock;

/// The search was cancelled.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the search was cancelled")]
pub struct Stopped;

/// One neighbour that was scored: one entry otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    pub cell: Cell,
    pub to: Option<BatchSize>,
    pub score: f64,
}

/// A step that a search took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// Evaluations until then.
    pub evaluations: usize,
    pub score: f64,
    /// Entries that differ from the matrix before; empty at the start.
    pub changes: Vec<(Cell, Option<BatchSize>)>,
}

/// Where a search stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    pub iteration: usize,
    /// Neighbours scored in this iteration, and how many there will be.
    pub neighbour: usize,
    pub neighbours: usize,
    /// Share of all neighbours that an iteration visits.
    pub coverage: f64,
    pub start_score: Option<f64>,
    pub best_score: Option<f64>,
    pub best: Option<Matrix>,
    /// Scores of this iteration's neighbours so far.
    pub scores: Vec<f64>,
    /// Best score after each iteration.
    pub history: Vec<f64>,
    pub evaluations: usize,
    /// Of a plan: sets of devices searched, and those that were ruled out.
    pub fleets: (usize, usize),
    /// It occupies this machine's devices; a model's predictions do not.
    pub measuring: bool,
    /// Members profiled for this search, counted once a kind of device.
    pub profiled: usize,
    /// Neighbours of this iteration's matrix that were scored so far.
    pub tried: Vec<Tried>,
    /// Steps taken, oldest first, bounded.
    pub accepted: Vec<Accepted>,
    /// Best score after so many evaluations, thinned out to a bounded number of points.
    pub curve: Vec<(usize, f64)>,
    /// Samples a second that no matrix exceeds, by the model.
    pub bound: Option<f64>,
}

/// Shared by a search and whoever watches it.
#[derive(Debug)]
pub struct Control {
    state: Mutex<State>,
    /// Beside the state, so that a measurement can watch it.
    cancelled: AtomicBool,
    changed: Condvar,
    started: Instant,
}

#[derive(Debug, Default)]
struct State {
    paused: bool,
    /// The search has come to a place where it waits.
    waiting: bool,
    progress: Progress,
}

impl Default for Control {
    fn default() -> Self {
        Control {
            state: Mutex::default(),
            cancelled: AtomicBool::new(false),
            changed: Condvar::new(),
            started: Instant::now(),
        }
    }
}

impl Control {
    /// Pauses or resumes; a measurement under way is finished first.
    pub fn pause(&self, paused: bool) {
        self.with(|state| state.paused = paused);
        self.changed.notify_all();
    }

    /// Ends the search as soon as possible.
    pub fn cancel(&self) {
        // Under the lock, so that nobody begins to wait in between.
        self.with(|_| self.cancelled.store(true, Ordering::Release));
        self.changed.notify_all();
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Set once it is cancelled.
    pub fn cancelled(&self) -> &AtomicBool {
        &self.cancelled
    }

    /// Forgets what an earlier search left.
    pub fn begin(&self) {
        self.update(|progress| *progress = Progress::default());
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.with(|state| state.paused)
    }

    /// Whether it is paused and has finished what it was measuring.
    pub fn is_waiting(&self) -> bool {
        self.with(|state| state.waiting)
    }

    /// Where the search stands.
    pub fn progress(&self) -> Progress {
        self.with(|state| state.progress.clone())
    }

    /// Time since the search began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits while paused.
    ///
    /// # Errors
    /// [`Stopped`] once cancelled.
    pub fn checkpoint(&self) -> Result<(), Stopped> {
        let mut state = lock(&self.state);
        while state.paused && !self.is_cancelled() {
            state.waiting = true;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting = false;
        if self.is_cancelled() {
            Err(Stopped)
        } else {
            Ok(())
        }
    }

    /// Notes progress.
    pub fn update(&self, change: impl FnOnce(&mut Progress)) {
        self.with(|state| change(&mut state.progress));
    }

    fn with<R>(&self, look: impl FnOnce(&mut State) -> R) -> R {
        look(&mut lock(&self.state))
    }
}
