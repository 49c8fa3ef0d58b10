//! What becomes of a worker whose network panicked.
//!
//! The requests of the batch fail at once. The worker keeps its place while it is built again, so
//! that neither a reload nor the check for members without workers takes the gap for an absence; a
//! worker that was leaving anyway is not built again. The third panic within a minute retires it.
//! A member without workers closes the door until a reload brings one. Applying any matrix starts
//! retired entries again.

use std::collections::VecDeque;
use std::time::Duration;

/// Panics of one entry of the matrix.
#[derive(Clone, Debug, Default)]
pub struct PanicWatch {
    panics: VecDeque<Duration>,
}

/// The fate of a worker after a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Build it anew.
    Restart,
    /// Leave its place empty.
    Retire,
    /// It was leaving, or gone, anyway.
    Gone,
}

/// This many panics within [`WINDOW`] retire a worker.
const MOST: usize = 3;
const WINDOW: Duration = Duration::from_secs(60);

impl PanicWatch {
    /// Records a panic.
    pub fn panicked(&mut self, now: Duration) -> Verdict {
        self.panics.push_back(now);
        while self.panics.front().is_some_and(|&t| now - t > WINDOW) {
            self.panics.pop_front();
        }
        if self.panics.len() >= MOST {
            Verdict::Retire
        } else {
            Verdict::Restart
        }
    }
}
