//! A client's side: what it sends, what it waits for, what it gets.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::ensemble::CombinationRule;
use crate::lock::lock;
use crate::serving::accumulator::Part;
use crate::serving::answer::Answer;
use crate::serving::batch::RequestKey;
use crate::serving::flaws::Detail;

use super::ballots::MemberSample;
use super::promise::{Books, Promise};
use super::shared::EngineState;

/// Why a request has no answer although it was admitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Failure {
    #[error("the deadline passed")]
    Deadline,
    #[error("cancelled by its caller")]
    Cancelled,
    #[error("{0}")]
    Worker(String),
    /// Members that vote answered NaN or infinities: their names, and for how many of the
    /// request's samples.
    #[error("{}", not_finite(.0))]
    NotFinite(Vec<(String, usize)>),
}

fn not_finite(members: &[(String, usize)]) -> String {
    let words = members.iter().map(|(name, samples)| {
        let plural = if *samples == 1 { "" } else { "s" };
        format!("member `{name}` answered NaN or infinities for {samples} sample{plural}")
    });
    words.collect::<Vec<_>>().join("; ")
}

/// What a request comes to, exactly once.
pub type Outcome = Result<Answer, Failure>;

/// Takes the outcome, in the thread that completed the request; it must be quick.
pub type Reply = Box<dyn FnOnce(Outcome) + Send>;

/// A client's call: samples, row after row, and how long they may take.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub values: &'a [f32],
    pub deadline: Option<Duration>,
    /// How long ago it was due: its latency counts from then.
    pub late: Duration,
    /// The samples' classes, where they are known: members are weighed by them.
    pub labels: Option<&'a [usize]>,
    pub detail: Detail,
}

impl<'a> Request<'a> {
    /// Samples without a deadline.
    pub fn new(values: &'a [f32]) -> Self {
        Request {
            values,
            deadline: None,
            late: Duration::ZERO,
            labels: None,
            detail: Detail::Scores,
        }
    }

    /// The same, to be told more.
    #[must_use]
    pub fn detailed(self, detail: Detail) -> Self {
        Request { detail, ..self }
    }

    /// The same, given up `within` this time.
    #[must_use]
    pub fn within(self, within: Duration) -> Self {
        Request {
            deadline: Some(within),
            ..self
        }
    }
}

/// What the engine keeps of a request while it is under way.
pub struct RequestData {
    pub parts: Vec<Part>,
    /// Taken when it was let in, so that one rule combines all of it.
    pub rule: Arc<dyn CombinationRule>,
    /// Where members' answers are kept, for the few requests by which they are weighed.
    pub ballot: Option<MemberSample>,
    /// Whether its caller takes rows that are not finite.
    pub detail: Detail,
    /// Whether any row that was folded is not what it should be.
    flawed: AtomicBool,
    promise: Promise,
}

impl RequestData {
    pub(super) fn new(
        parts: Vec<Part>,
        rule: Arc<dyn CombinationRule>,
        ballot: Option<MemberSample>,
        detail: Detail,
        reply: Reply,
        books: &Arc<Books>,
    ) -> Self {
        RequestData {
            parts,
            rule,
            ballot,
            detail,
            flawed: AtomicBool::new(false),
            promise: Promise::new(reply, books),
        }
    }

    /// A row is not what it should be; its part says which.
    pub(super) fn note_flaw(&self) {
        self.flawed.store(true, Ordering::Relaxed);
    }

    /// Whether any row is not what it should be.
    pub(super) fn is_flawed(&self) -> bool {
        self.flawed.load(Ordering::Relaxed)
    }

    /// Answers; a second call does nothing but being counted. Gives why there is no
    /// answer where the combination rule panicked.
    pub(super) fn answer(&self, outcome: impl FnOnce(&Self) -> Outcome) -> Option<String> {
        self.promise.keep(|| outcome(self))
    }

    /// Its caller took it back.
    pub(super) fn withdraw(&self) {
        self.promise.withdraw();
    }
}

/// Where a waiting thread finds its outcome.
#[derive(Default)]
pub(super) struct Slot {
    ready: AtomicBool,
    outcome: Mutex<Option<Outcome>>,
    changed: Condvar,
}

impl Slot {
    pub fn put(&self, outcome: Outcome) {
        *lock(&self.outcome) = Some(outcome);
        self.ready.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    fn take(&self) -> Outcome {
        loop {
            if let Some(outcome) = self.take_within(Duration::from_secs(3600)) {
                return outcome;
            }
        }
    }

    fn take_within(&self, time: Duration) -> Option<Outcome> {
        spin(|| self.ready.load(Ordering::Acquire));
        let outcome = lock(&self.outcome);
        let waited = self
            .changed
            .wait_timeout_while(outcome, time, |outcome| outcome.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

/// Longest time a thread spins before it sleeps.
pub(super) const SPIN: Duration = Duration::from_micros(20);

/// Spins for at most [`SPIN`], letting others run, until `ready`.
pub(super) fn spin(ready: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..16 {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() >= SPIN {
            return false;
        }
        thread::yield_now();
    }
}

/// A request under way. Dropped before its answer, it is cancelled.
pub struct Pending {
    pub(super) slot: Arc<Slot>,
    pub(super) shared: Arc<EngineState>,
    pub(super) request: RequestKey,
    pub(super) over: bool,
}

impl Pending {
    /// Waits for the outcome.
    pub fn wait(mut self) -> Outcome {
        self.over = true;
        self.slot.take()
    }

    /// Waits for the outcome for at most `time`; after it the request is still under way.
    pub fn wait_within(&mut self, time: Duration) -> Option<Outcome> {
        let outcome = self.slot.take_within(time);
        self.over |= outcome.is_some();
        outcome
    }

    /// Gives the request up: nothing of it is computed further than the batch it is in.
    pub fn cancel(self) {}
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.over {
            self.shared.fail(self.request, &Failure::Cancelled);
        }
    }
}

/// A request whose samples are in the pool but that no queue knows of yet. Dropped,
/// it gives its slots back.
pub struct Staged {
    pub(super) slot: Arc<Slot>,
    pub(super) shared: Arc<EngineState>,
    pub(super) request: RequestKey,
    pub(super) released: bool,
}

impl Staged {
    /// Broadcasts it to the members' queues.
    pub fn release(mut self) -> Pending {
        self.released = true;
        self.shared.release(self.request);
        Pending {
            slot: Arc::clone(&self.slot),
            shared: Arc::clone(&self.shared),
            request: self.request,
            over: false,
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.released {
            let abandoned = self.shared.core().abandon(self.request);
            if let Some(request) = abandoned {
                request.withdraw();
            }
        }
    }
}
