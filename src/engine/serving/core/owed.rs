//! Requests that are over but not yet answered. The owner of such a list has to answer the clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::serving::batch::{BatchId, RequestKey};
use divisi_model::dataflow::StepIndex;
use divisi_model::metrics::LatencySplit;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

/// A request that is over: its payload, to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "its client waits for an answer"]
pub struct Finished<T> {
    /// The request's number.
    pub request: RequestKey,
    /// The driver's data for the request.
    pub payload: T,
    /// The number of samples.
    pub samples: usize,
    /// The time from submission to the end.
    pub latency: Duration,
    /// The parts of the latency; zeros for a failed request.
    pub split: LatencySplit,
    /// The steps that its quorums did without, in order.
    pub late: Vec<StepIndex>,
    /// Its last batches.
    pub batches: RequestBatches,
    /// The run that completed it, or `None` if none did.
    pub last: Option<CompletingRun>,
    /// Whether the request fails because too many steps of one of its quorums failed.
    pub unmet: bool,
}

/// The run that completed a request: it ended last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletingRun {
    /// The step.
    pub step: StepIndex,
    /// The batch with its device and its member, or `None` for a step on the host.
    pub batch: Option<(BatchId, DeviceIndex, MemberIndex)>,
}

/// The numbers of the last batches of a request, without memory of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestBatches {
    numbers: [u64; MOST_BATCHES],
    count: usize,
}

/// The number of batches kept for each request.
const MOST_BATCHES: usize = 16;

impl RequestBatches {
    /// Adds a batch, in place of the oldest one.
    pub(super) fn add(&mut self, batch: BatchId) {
        self.numbers[self.count % MOST_BATCHES] = batch.0;
        self.count += 1;
    }

    /// Returns the numbers, in no order.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers[..self.count.min(MOST_BATCHES)]
    }
}

/// Requests that are over. Only [`Owed::pay`] takes them out. Dropped requests are counted
/// ([`super::Core::dropped`]), and a payload with a client answers it when it is dropped.
#[derive(Debug)]
#[must_use = "the clients of these requests wait for an answer"]
pub struct Owed<T> {
    list: Vec<Finished<T>>,
    dropped: Arc<AtomicU64>,
}

impl<T> Owed<T> {
    /// Creates an empty list that counts dropped requests in `dropped`.
    pub(super) fn new(dropped: &Arc<AtomicU64>) -> Self {
        Owed {
            list: Vec::new(),
            dropped: Arc::clone(dropped),
        }
    }

    /// Adds a finished request.
    pub(super) fn push(&mut self, finished: Finished<T>) {
        self.list.push(finished);
    }

    /// Appends the requests of `other`.
    pub fn join(&mut self, mut other: Self) {
        self.list.append(&mut other.list);
    }

    /// Splits the requests into those that match `is`, and the others.
    pub fn split(mut self, is: impl FnMut(&Finished<T>) -> bool) -> (Self, Self) {
        let (those, others) = std::mem::take(&mut self.list).into_iter().partition(is);
        let of = |list| Owed {
            list,
            dropped: Arc::clone(&self.dropped),
        };
        (of(those), of(others))
    }

    /// Passes each request to `answer`, in the order of their ends.
    pub fn pay(mut self, answer: impl FnMut(Finished<T>)) {
        std::mem::take(&mut self.list).into_iter().for_each(answer);
    }

    /// Iterates over the requests.
    pub fn iter(&self) -> impl Iterator<Item = &Finished<T>> {
        self.list.iter()
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl<T> Drop for Owed<T> {
    fn drop(&mut self) {
        let dropped = self.list.len() as u64;
        if dropped > 0 {
            self.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }
}
