//! The run of benchmark mode: a number of samples, as fast as the matrix serves them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::ensemble::Samples;
use crate::serving::{Answer, Detail, Engine, Failure, Pending, Refused, Request};

/// The result of a saturating run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Samples answered.
    pub samples: usize,
    /// Its time.
    pub elapsed: Duration,
    /// Whether it was ended before every sample was answered.
    pub cut_short: bool,
}

impl Run {
    /// Returns the samples answered a second.
    pub fn samples_per_s(&self) -> f64 {
        self.samples as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// Why a run failed.
#[derive(Debug, Error)]
pub enum RunError {
    /// A request was refused for another reason than a full pool.
    #[error("a request was refused: {0}")]
    Refused(Refused),
    /// A request failed.
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

/// Conditions under which a run ends early.
#[derive(Clone, Copy, Debug, Default)]
pub struct Until<'a> {
    /// The longest time.
    pub limit: Option<Duration>,
    /// A flag that ends it.
    pub stop: Option<&'a AtomicBool>,
}

/// The longest wait for an answer before the conditions are checked again.
const PATIENCE: Duration = Duration::from_millis(50);

impl Until<'_> {
    fn is_over(&self, start: Instant) -> bool {
        self.limit.is_some_and(|limit| start.elapsed() > limit)
            || self.stop.is_some_and(|stop| stop.load(Ordering::Acquire))
    }
}

/// The most bytes of members' rows under way.
const MEMBERS_BYTES: usize = 64 << 20;

/// Returns the number of samples whose members' rows fit there.
fn within_bytes(engine: &Engine) -> usize {
    let ensemble = engine.ensemble();
    let widths = ensemble.members.iter().map(|member| member.row_width());
    let sample = widths.sum::<usize>() * size_of::<f32>();
    MEMBERS_BYTES / sample.max(1)
}

/// Sends `count` of `samples` (repeated as needed) in requests of the segment size, as many
/// at once as the pool admits, and waits for the last answer or `until` it ends early.
/// `check` is called with each answer, in order, and the number of its first sample.
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

/// As [`saturate`], with answers of this detail. Members' rows under way take 64 MiB at
/// most, or those of one request.
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
    let piece = engine
        .ensemble()
        .segment_size
        .min(engine.telemetry().capacity());
    let capacity = match detail {
        Detail::Members => within_bytes(engine).clamp(piece, engine.telemetry().capacity()),
        Detail::Scores | Detail::Marked => engine.telemetry().capacity(),
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
