//! Benchmark mode's run: so many samples as fast as the matrix serves them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::ensemble::Samples;
use crate::serving::{Answer, Engine, Failure, Pending, Refused, Request};

/// What a saturating run came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Samples answered.
    pub samples: usize,
    pub elapsed: Duration,
    /// The limit was reached and the rest given up.
    pub cut_short: bool,
}

impl Run {
    /// Samples answered a second.
    pub fn samples_per_s(&self) -> f64 {
        self.samples as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// Why a run gave no figure.
#[derive(Debug, Error)]
pub enum RunError {
    #[error("a request was refused: {0}")]
    Refused(Refused),
    #[error("a request failed: {0}")]
    Failed(Failure),
}

impl From<Refused> for RunError {
    fn from(refused: Refused) -> Self {
        RunError::Refused(refused)
    }
}

impl From<Failure> for RunError {
    fn from(failure: Failure) -> Self {
        RunError::Failed(failure)
    }
}

/// When a run is given up before its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Until<'a> {
    /// After this time.
    pub limit: Option<Duration>,
    /// When somebody sets this.
    pub stop: Option<&'a AtomicBool>,
}

/// How long to wait for an answer before looking whether the run was given up.
const PATIENCE: Duration = Duration::from_millis(50);

impl Until<'_> {
    fn is_over(&self, start: Instant) -> bool {
        self.limit.is_some_and(|limit| start.elapsed() > limit)
            || self.stop.is_some_and(|stop| stop.load(Ordering::Acquire))
    }
}

/// Sends `count` of `samples` (round and round) in requests of the segment size, as
/// many at once as the pool admits, and waits for the last answer or `until` it is
/// given up. `check` sees each answer, in order, with the number of its first sample.
///
/// # Errors
/// A request was refused for another reason than a full pool, or failed.
pub fn saturate(
    engine: &Engine,
    samples: &Samples,
    count: usize,
    until: Until<'_>,
    mut check: impl FnMut(usize, &Answer),
) -> Result<Run, RunError> {
    let capacity = engine.capacity();
    let piece = engine.ensemble().segment_size.min(capacity);
    let start = Instant::now();
    let mut pending: VecDeque<(usize, Pending)> = VecDeque::new();
    let (mut next, mut answered) = (0, 0);
    while answered < count && !until.is_over(start) {
        let len = piece.min(count - next);
        if len > 0 && next - answered + len <= capacity {
            match engine.submit(Request::new(&samples.rows(next, len))) {
                Ok(request) => {
                    pending.push_back((next, request));
                    next += len;
                    continue;
                }
                // Others may use the pool as well.
                Err(Refused::Full { .. }) if !pending.is_empty() => {}
                Err(refused) => return Err(refused.into()),
            }
        }
        let Some((first, request)) = pending.front_mut() else {
            continue;
        };
        if let Some(outcome) = request.wait_within(PATIENCE) {
            let answer = outcome?;
            answered += answer.len();
            check(*first, &answer);
            pending.pop_front();
        }
    }
    Ok(Run {
        samples: answered,
        elapsed: start.elapsed(),
        cut_short: answered < count,
    })
}
