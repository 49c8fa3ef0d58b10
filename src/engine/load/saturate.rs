//! The run of benchmark mode: a number of samples, served as fast as possible.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::serving::{Answer, Detail, Engine, Failure, Pending, PipelineIndex, Refused, Request};
use divisi_model::catalogue::Mix;
use divisi_model::ensemble::Samples;

use super::asked::{EntryOrder, LoadSamples};

/// The result of a saturating run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Samples answered.
    pub samples: usize,
    /// The duration of the run.
    pub elapsed: Duration,
    /// Whether the run ended before every sample was answered.
    pub cut_short: bool,
}

impl Run {
    /// Returns the answered samples per second.
    pub fn samples_per_s(&self) -> f64 {
        self.samples as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// The reason why a run failed.
#[derive(Debug, Error)]
pub enum RunError {
    /// A request was refused for a reason other than a full pool.
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
    /// A flag that ends the run.
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

/// The most bytes of members' rows in flight.
const MEMBERS_BYTES: usize = 64 << 20;

/// Returns the number of samples whose members' rows fit in [`MEMBERS_BYTES`].
fn within_bytes(engine: &Engine) -> usize {
    let ensemble = engine.ensemble();
    let widths = ensemble.members.iter().map(|member| member.row_width());
    let sample = widths.sum::<usize>() * size_of::<f32>();
    MEMBERS_BYTES / sample.max(1)
}

/// Sends `count` of `samples` (repeated as needed) in requests of the segment size, as many at once
/// as the pool admits. Waits for the last answer, or until `until` ends the run early. Calls
/// `check` with each answer in order and the number of its first sample.
///
/// # Errors
/// A request was refused for a reason other than a full pool, or failed.
pub fn saturate(
    engine: &Engine,
    samples: &Samples,
    count: usize,
    until: Until<'_>,
    check: impl FnMut(usize, &Answer),
) -> Result<Run, RunError> {
    saturate_for(engine, samples, count, Detail::Scores, until, check)
}

/// Runs like [`saturate`] with answers of this detail. Members' rows in flight take at most 64 MiB,
/// or the size of one request.
///
/// # Errors
/// See [`saturate`].
pub fn saturate_for(
    engine: &Engine,
    samples: &Samples,
    count: usize,
    detail: Detail,
    until: Until<'_>,
    mut check: impl FnMut(usize, &Answer),
) -> Result<Run, RunError> {
    let capacity = engine.telemetry().capacity();
    let capacity = match detail {
        Detail::Members => within_bytes(engine).clamp(segment(engine).min(capacity), capacity),
        Detail::Scores | Detail::Marked => capacity,
    };
    let mut run = SaturatingRun {
        engine,
        detail,
        order: EntryOrder::in_turn(&Mix::equal_shares(1)),
        sources: vec![SampleSource::new(Some(samples), capacity)],
        pending: VecDeque::new(),
    };
    run.run(count, until, |request, answer| check(request.first, answer))
}

/// Runs like [`saturate`], but sends the samples in the shares of a mix instead of to the first
/// entry only.
///
/// # Errors
/// See [`saturate`].
pub fn saturate_mix(
    engine: &Engine,
    samples: &LoadSamples,
    count: usize,
    until: Until<'_>,
) -> Result<Run, RunError> {
    let source = |entry: usize| {
        let capacity = engine.telemetry().capacity_of(PipelineIndex(entry));
        SampleSource::new(samples.of_entry(entry).map(|s| &**s), capacity)
    };
    let mut run = SaturatingRun {
        engine,
        detail: Detail::Scores,
        order: EntryOrder::in_turn(samples.mix()),
        sources: (0..samples.mix().entries()).map(source).collect(),
        pending: VecDeque::new(),
    };
    run.run(count, until, |_, _| {})
}

fn segment(engine: &Engine) -> usize {
    engine.ensemble().segment_size
}

/// A saturating run in progress.
struct SaturatingRun<'a> {
    engine: &'a Engine,
    detail: Detail,
    order: EntryOrder,
    /// The sources by entry.
    sources: Vec<SampleSource<'a>>,
    pending: VecDeque<SentRequest>,
}

/// The samples of an entry.
struct SampleSource<'a> {
    samples: Option<&'a Samples>,
    /// The most samples in flight.
    capacity: usize,
    sent: usize,
    answered: usize,
}

impl<'a> SampleSource<'a> {
    fn new(samples: Option<&'a Samples>, capacity: usize) -> Self {
        SampleSource {
            samples,
            capacity,
            sent: 0,
            answered: 0,
        }
    }
}

/// A request in flight.
struct SentRequest {
    entry: usize,
    /// The number of the request's first sample among those of its entry.
    first: usize,
    pending: Pending,
}

impl SaturatingRun<'_> {
    fn run(
        &mut self,
        count: usize,
        until: Until<'_>,
        mut check: impl FnMut(&SentRequest, &Answer),
    ) -> Result<Run, RunError> {
        if self.sources.is_empty() {
            return Err(Refused::Closed("no model is served".into()).into());
        }
        let start = Instant::now();
        let (mut left, mut answered) = (count, 0);
        while answered < count && !until.is_over(start) {
            let sent = self.send(left)?;
            left -= sent;
            if sent > 0 {
                continue;
            }
            let Some(oldest) = self.pending.front_mut() else {
                continue;
            };
            if let Some(outcome) = oldest.pending.wait_within(PATIENCE) {
                let answer = outcome?;
                answered += answer.len();
                self.sources[oldest.entry].answered += answer.len();
                check(oldest, &answer);
                self.pending.pop_front();
            }
        }
        Ok(Run {
            samples: answered,
            elapsed: start.elapsed(),
            cut_short: answered < count,
        })
    }

    /// Sends the next request with at most `left` samples. Returns its number of samples, or `None`
    /// if the pool is full.
    fn send(&mut self, left: usize) -> Result<usize, RunError> {
        let entry = self.order.next();
        let source = &mut self.sources[entry];
        let most = segment(self.engine).min(source.capacity);
        let len = self.order.piece(most).min(left);
        let has_room = source.sent - source.answered + len <= source.capacity;
        let Some(samples) = source.samples.filter(|_| len > 0 && has_room) else {
            return Ok(0);
        };
        let first = source.sent;
        let values = samples.rows(first, len);
        let request = Request::new(&values).to(PipelineIndex(entry));
        match self.engine.submit(request.detailed(self.detail)) {
            Ok(pending) => {
                source.sent += len;
                self.order.sent(len);
                self.pending.push_back(SentRequest {
                    entry,
                    first,
                    pending,
                });
                Ok(len)
            }
            // Other clients may use the pool as well.
            Err(Refused::Full { .. }) if !self.pending.is_empty() => Ok(0),
            Err(refused) => Err(refused.into()),
        }
    }
}
