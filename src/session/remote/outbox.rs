//! What waits to be written to one viewer, with bounds.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::lock::lock;

/// Bytes of news that may wait; more is dropped.
const MOST: usize = 4 << 20;
/// Answers that may wait, and their bytes. A console asks for one thing at a time.
const ANSWERS: usize = 256;
const ANSWER_BYTES: usize = 4 << 20;

/// Bytes in the order in which they go.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Parcel>,
    news: Waiting,
    answers: Waiting,
    closed: bool,
    /// Nobody writes any more.
    ended: bool,
}

#[derive(Debug)]
struct Parcel {
    bytes: Arc<[u8]>,
    answer: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    count: usize,
    bytes: usize,
}

impl Waiting {
    /// Whether so many more fit. One alone may be larger than the bound.
    fn has_room(self, more: usize, most: Waiting) -> bool {
        self.count == 0 || (self.count < most.count && self.bytes + more <= most.bytes)
    }
}

impl Inner {
    fn of(&mut self, answer: bool) -> &mut Waiting {
        match answer {
            true => &mut self.answers,
            false => &mut self.news,
        }
    }

    fn put(&mut self, bytes: &Arc<[u8]>, answer: bool, most: Waiting) -> bool {
        if self.closed || !self.of(answer).has_room(bytes.len(), most) {
            return false;
        }
        self.of(answer).count += 1;
        self.of(answer).bytes += bytes.len();
        let bytes = Arc::clone(bytes);
        self.waiting.push_back(Parcel { bytes, answer });
        true
    }
}

impl Outbox {
    /// Adds news where there is room for them.
    pub(super) fn push(&self, bytes: &Arc<[u8]>) -> bool {
        let most = Waiting {
            count: usize::MAX,
            bytes: MOST,
        };
        self.put(bytes, false, most)
    }

    /// Adds an answer; false where so many wait that the viewer cannot be reading them.
    pub(super) fn answer(&self, bytes: &Arc<[u8]>) -> bool {
        let most = Waiting {
            count: ANSWERS,
            bytes: ANSWER_BYTES,
        };
        self.put(bytes, true, most)
    }

    fn put(&self, bytes: &Arc<[u8]>, answer: bool, most: Waiting) -> bool {
        let put = lock(&self.inner).put(bytes, answer, most);
        self.changed.notify_all();
        put
    }

    /// Whether at least half of the room for news is free again.
    pub(super) fn has_room(&self) -> bool {
        lock(&self.inner).news.bytes <= MOST / 2
    }

    /// Waits for bytes; none once closed and empty.
    pub(super) fn take(&self) -> Option<Arc<[u8]>> {
        let mut inner = lock(&self.inner);
        loop {
            if let Some(Parcel { bytes, answer }) = inner.waiting.pop_front() {
                inner.of(answer).count -= 1;
                inner.of(answer).bytes -= bytes.len();
                return Some(bytes);
            }
            if inner.closed {
                return None;
            }
            let woken = self.changed.wait(inner);
            inner = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes nothing more; what waits still goes.
    pub(super) fn close(&self) {
        lock(&self.inner).closed = true;
        self.changed.notify_all();
    }

    /// Takes nothing more, and instead of what waits a last word goes.
    pub(super) fn close_with(&self, word: Option<Arc<[u8]>>) {
        let mut inner = lock(&self.inner);
        inner.waiting.clear();
        (inner.news, inner.answers) = Default::default();
        if let Some(word) = word {
            let most = Waiting::default();
            inner.put(&word, false, most);
        }
        inner.closed = true;
        self.changed.notify_all();
    }

    /// Whoever wrote has ended: all is written, or the viewer is gone.
    pub(super) fn end(&self) {
        let mut inner = lock(&self.inner);
        (inner.closed, inner.ended) = (true, true);
        self.changed.notify_all();
    }

    /// Waits until whoever writes has ended, for at most `most`.
    pub(super) fn await_end(&self, most: Duration) {
        let inner = lock(&self.inner);
        // Late or not, nothing more is waited for.
        let _ = self.changed.wait_timeout_while(inner, most, |i| !i.ended);
    }
}
