//! A client's side: what it sends, what it waits for, what it gets.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::serving::accumulator::{Answer, Part};
use crate::serving::batch::RequestKey;

use super::shared::Shared;

/// Why a request has no answer although it was admitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Failure {
    #[error("the deadline passed")]
    Deadline,
    #[error("cancelled by its caller")]
    Cancelled,
    #[error("{0}")]
    Worker(String),
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
}

impl<'a> Request<'a> {
    /// Samples without a deadline.
    pub fn new(values: &'a [f32]) -> Self {
        Request {
            values,
            deadline: None,
        }
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
    reply: Mutex<Option<Reply>>,
}

impl RequestData {
    pub(super) fn new(parts: Vec<Part>, reply: Reply) -> Self {
        RequestData {
            parts,
            reply: Mutex::new(Some(reply)),
        }
    }

    /// Answers; a second call does nothing.
    pub(super) fn answer(&self, outcome: impl FnOnce(&[Part]) -> Outcome) {
        let reply = self
            .reply
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(reply) = reply {
            reply(outcome(&self.parts));
        }
    }
}

/// Where a waiting thread finds its outcome.
pub(super) struct Slot {
    ready: AtomicBool,
    outcome: Mutex<Option<Outcome>>,
    waiter: Thread,
}

impl Slot {
    /// For the calling thread.
    pub fn new() -> Arc<Self> {
        Arc::new(Slot {
            ready: AtomicBool::new(false),
            outcome: Mutex::new(None),
            waiter: thread::current(),
        })
    }

    pub fn put(&self, outcome: Outcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.ready.store(true, Ordering::Release);
        self.waiter.unpark();
    }

    fn take(&self) -> Option<Outcome> {
        if !self.ready.load(Ordering::Acquire) {
            return None;
        }
        self.outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
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
    pub(super) shared: Arc<Shared>,
    pub(super) request: RequestKey,
    pub(super) over: bool,
}

impl Pending {
    /// Waits for the outcome. The thread that submitted is the one that waits.
    pub fn wait(mut self) -> Outcome {
        spin(|| self.slot.ready.load(Ordering::Acquire));
        loop {
            if let Some(outcome) = self.slot.take() {
                self.over = true;
                return outcome;
            }
            thread::park();
        }
    }

    /// The outcome, if it is there.
    pub fn poll(&mut self) -> Option<Outcome> {
        let outcome = self.slot.take();
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
