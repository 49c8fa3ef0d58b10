//! The control of a search from outside: pause, cancel, progress.

use std::sync::Condvar;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use divisi_runtime::lock::Leaf;

use super::error::Stopped;
use super::progress::SearchProgress;

/// The control of a search, shared with its observers.
#[derive(Debug)]
pub struct Control {
    state: Leaf<ControlState>,
    /// Kept outside the state, so that a measurement can watch it.
    cancelled: AtomicBool,
    changed: Condvar,
    started: Instant,
}

#[derive(Debug)]
struct ControlState {
    paused: bool,
    /// The search has paused between two measurements.
    waiting: bool,
    progress: SearchProgress,
    phase: SearchPhase,
}

/// A part of a search whose evaluations take about the same time.
#[derive(Clone, Copy, Debug)]
struct SearchPhase {
    /// The start of the phase, moved forward by the pauses since then.
    started: Instant,
    /// Evaluations and climbs before the phase.
    evaluations: usize,
    climbs: usize,
    /// The most iterations with the current number of neighbours.
    iterations: usize,
}

impl Default for Control {
    fn default() -> Self {
        let started = Instant::now();
        let phase = SearchPhase {
            started,
            evaluations: 0,
            climbs: 0,
            iterations: 0,
        };
        Control {
            state: Leaf::new(ControlState {
                paused: false,
                waiting: false,
                progress: SearchProgress::default(),
                phase,
            }),
            cancelled: AtomicBool::new(false),
            changed: Condvar::new(),
            started,
        }
    }
}

impl Control {
    /// Pauses or resumes the search. A measurement under way is finished first.
    pub fn pause(&self, paused: bool) {
        self.with(|state| state.paused = paused);
        self.changed.notify_all();
    }

    /// Ends the search as soon as possible.
    pub fn cancel(&self) {
        // Set under the lock, so that no thread begins to wait in between.
        self.with(|_| self.cancelled.store(true, Ordering::Release));
        self.changed.notify_all();
    }

    /// Returns whether the search was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Returns the flag that cancelling sets.
    pub fn cancelled(&self) -> &AtomicBool {
        &self.cancelled
    }

    /// Resets the progress.
    pub fn begin(&self) {
        self.update(|progress| *progress = SearchProgress::default());
    }

    /// Returns whether the search is paused.
    pub fn is_paused(&self) -> bool {
        self.with(|state| state.paused)
    }

    /// Returns whether the search is paused and its last measurement is finished.
    pub fn is_waiting(&self) -> bool {
        self.with(|state| state.waiting)
    }

    /// Returns the progress.
    pub fn progress(&self) -> SearchProgress {
        self.with(|state| state.progress.clone())
    }

    /// Returns whether the search occupies the devices now: it is measuring and not waiting.
    pub fn is_measuring(&self) -> bool {
        self.with(|state| state.progress.measuring && !state.waiting)
    }

    /// Returns the number of evaluations so far.
    pub fn evaluations(&self) -> usize {
        self.with(|state| state.progress.evaluations)
    }

    /// Begins a phase whose evaluations take another time than before. It has at most `iterations`
    /// iterations, 0 for a phase without any.
    pub(super) fn begin_phase(&self, iterations: usize) {
        self.with(|state| {
            state.phase = SearchPhase {
                started: Instant::now(),
                evaluations: state.progress.evaluations,
                climbs: state.progress.climbs.0,
                iterations,
            };
        });
    }

    /// Returns the remaining time at the pace of this phase, or `None` if the number of evaluations
    /// is unknown. It is an upper bound, because iterations end early without a better neighbour.
    pub fn left(&self) -> Option<Duration> {
        self.with(|state| state.left())
    }

    /// Returns the time since the search began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits while the search is paused.
    ///
    /// # Errors
    /// Returns [`Stopped`] after the search was cancelled.
    pub fn checkpoint(&self) -> Result<(), Stopped> {
        let mut state = self.state.lock();
        let waiting = state.paused.then(Instant::now);
        while state.paused && !self.is_cancelled() {
            state.waiting = true;
            state = state.wait(&self.changed);
        }
        state.waiting = false;
        if let Some(since) = waiting {
            state.phase.started += since.elapsed();
        }
        if self.is_cancelled() {
            Err(Stopped)
        } else {
            Ok(())
        }
    }

    /// Updates the progress.
    pub fn update(&self, change: impl FnOnce(&mut SearchProgress)) {
        self.with(|state| change(&mut state.progress));
    }

    fn with<R>(&self, look: impl FnOnce(&mut ControlState) -> R) -> R {
        look(&mut self.state.lock())
    }
}

impl ControlState {
    fn left(&self) -> Option<Duration> {
        let (seen, phase) = (&self.progress, &self.phase);
        let (ended, climbs) = seen.climbs;
        let (done, left) = match ended < climbs {
            true => (ended - phase.climbs.min(ended), climbs - ended),
            false if seen.neighbours == 0 => return None,
            false => (
                seen.evaluations.saturating_sub(phase.evaluations),
                seen.left(phase.iterations),
            ),
        };
        let pace = (done > 0).then(|| phase.started.elapsed() / u32::try_from(done).unwrap_or(1));
        pace.map(|each| each.mul_f64(left as f64))
    }
}
