//! The reply that a client was promised: it is called once, whatever happens to those who
//! should have called it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::lock::lock;

use super::client::{Failure, Outcome, Reply};
use super::worker::panic_text;

/// How many requests were let in since the start, and what became of them. Once nothing is
/// under way `promised` is `kept` and `withdrawn` together; the others are faults of the
/// system wherever they are not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settlements {
    /// Requests let in.
    pub promised: u64,
    /// Requests answered, those that failed with a reason among them.
    pub kept: u64,
    /// Requests whose caller took them back before anybody knew of them.
    pub withdrawn: u64,
    /// Answers to requests that were answered already; nobody was told.
    pub twice: u64,
    /// Requests that were dropped; they were answered with [`Failure::Worker`].
    pub dropped: u64,
}

/// [`Settlements`] as they are counted.
#[derive(Debug, Default)]
pub(super) struct Books {
    promised: AtomicU64,
    kept: AtomicU64,
    withdrawn: AtomicU64,
    twice: AtomicU64,
    dropped: AtomicU64,
}

impl Books {
    pub fn read(&self) -> Settlements {
        let of = |counter: &AtomicU64| counter.load(Ordering::Acquire);
        Settlements {
            promised: of(&self.promised),
            kept: of(&self.kept),
            withdrawn: of(&self.withdrawn),
            twice: of(&self.twice),
            dropped: of(&self.dropped),
        }
    }
}

/// What a client is told whose request was dropped.
const DROPPED: &str = "the system dropped the request; this is a fault of the system";

/// See the module's text.
pub(super) struct Promise {
    reply: Mutex<Option<Reply>>,
    books: Arc<Books>,
}

impl Promise {
    /// A promise that `reply` is called.
    pub fn new(reply: Reply, books: &Arc<Books>) -> Self {
        books.promised.fetch_add(1, Ordering::AcqRel);
        Promise {
            reply: Mutex::new(Some(reply)),
            books: Arc::clone(books),
        }
    }

    /// Tells the client what `outcome` returns, or why it panicked; gives that reason.
    pub fn keep(&self, outcome: impl FnOnce() -> Outcome) -> Option<String> {
        let Some(reply) = lock(&self.reply).take() else {
            self.books.twice.fetch_add(1, Ordering::AcqRel);
            return None;
        };
        let (outcome, why) = match catch_unwind(AssertUnwindSafe(outcome)) {
            Ok(outcome) => (outcome, None),
            Err(panic) => {
                let why = format!("its combination rule {}", panic_text(panic.as_ref()));
                (Err(Failure::Worker(why.clone())), Some(why))
            }
        };
        self.books.kept.fetch_add(1, Ordering::AcqRel);
        tell(reply, outcome);
        why
    }

    /// Its caller took the request back: nobody waits.
    pub fn withdraw(&self) {
        if lock(&self.reply).take().is_some() {
            self.books.withdrawn.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if let Some(reply) = lock(&self.reply).take() {
            self.books.dropped.fetch_add(1, Ordering::AcqRel);
            tell(reply, Err(Failure::Worker(DROPPED.into())));
        }
    }
}

/// A caller's reply that panics must not take the thread with it.
fn tell(reply: Reply, outcome: Outcome) {
    let told = catch_unwind(AssertUnwindSafe(|| reply(outcome)));
    drop(told);
}
