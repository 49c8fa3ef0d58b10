//! Requests that are over and not yet answered: who gets them owes their clients an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::serving::batch::RequestKey;
use divisi_model::dataflow::StepIndex;
use divisi_model::metrics::LatencySplit;

/// A request that is over: its payload, to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "its client waits for an answer"]
pub struct Finished<T> {
    /// The request's number.
    pub request: RequestKey,
    /// Kept with it by the driver.
    pub payload: T,
    /// Its samples.
    pub samples: usize,
    /// From submission until it was over.
    pub latency: Duration,
    /// Where the latency went; zeros for a request that failed.
    pub split: LatencySplit,
    /// The steps that its quorums did without, in order.
    pub late: Vec<StepIndex>,
    /// Whether it fails because too many steps that a quorum of it reads have failed.
    pub unmet: bool,
}

/// Requests that are over. [`Owed::pay`] is the only way to get at them; those that are
/// dropped instead are counted ([`super::Core::dropped`]), and a payload that knows its
/// client answers it when it is dropped.
#[derive(Debug)]
#[must_use = "the clients of these requests wait for an answer"]
pub struct Owed<T> {
    list: Vec<Finished<T>>,
    dropped: Arc<AtomicU64>,
}

impl<T> Owed<T> {
    /// Nothing yet; what is dropped later counts in `dropped`.
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

    /// Takes those of `other` too.
    pub fn join(&mut self, mut other: Self) {
        self.list.append(&mut other.list);
    }

    /// Those that `is` true of, and the others.
    pub fn split(mut self, is: impl FnMut(&Finished<T>) -> bool) -> (Self, Self) {
        let (those, others) = std::mem::take(&mut self.list).into_iter().partition(is);
        let of = |list| Owed {
            list,
            dropped: Arc::clone(&self.dropped),
        };
        (of(those), of(others))
    }

    /// Hands each to `answer`, in the order in which they were over.
    pub fn pay(mut self, answer: impl FnMut(Finished<T>)) {
        std::mem::take(&mut self.list).into_iter().for_each(answer);
    }

    /// Looks at each.
    pub fn iter(&self) -> impl Iterator<Item = &Finished<T>> {
        self.list.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether nobody waits for an answer.
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
