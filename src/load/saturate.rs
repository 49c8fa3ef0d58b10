//! Benchmark mode's run: so many samples as fast as the matrix serves them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::ensemble::Samples;
use crate::serving::{Answer, Detail, Engine, Failure, Pending, Refused, Request};

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

/// Bytes of members' rows that may be under way.
const MEMBERS_BYTES: usize = 64 << 20;

/// Samples whose members' rows fit there.
fn within_bytes(engine: &Engine) -> usize {
    let ensemble = engine.ensemble();
    let sample = ensemble.members.len() * ensemble.classes * size_of::<f32>();
    MEMBERS_BYTES / sample.max(1)
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
    check: impl FnMut(usize, &Answer),
) -> Result<Run, RunError> {
    saturate_for(engine, samples, count, Detail::Scores, until, check)
}

/// The same, to be told more. Of members' rows only so many are under way as 64 MiB hold,
/// or those of one request.
///
/// # Errors
/// As [`saturate`].
pub fn saturate_for(
    engine: &Engine,
    samples: &Samples,
    count: usize,
    detail: Detail,
    until: Until<'_>,
    mut check: impl FnMut(usize, &Answer),
) -> Result<Run, RunError> {
    let piece = engine.ensemble().segment_size.min(engine.capacity());
    let capacity = match detail {
        Detail::Members => within_bytes(engine).clamp(piece, engine.capacity()),
        Detail::Scores | Detail::Marked => engine.capacity(),
    };
    let start = Instant::now();
    let mut pending: VecDeque<(usize, Pending)> = VecDeque::new();
    let (mut next, mut answered) = (0, 0);
    while answered < count && !until.is_over(start) {
        let len = piece.min(count - next);
        if len > 0 && next - answered + len <= capacity {
            let values = samples.rows(next, len);
            match engine.submit(Request::new(&values).detailed(detail)) {
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
