//! What waits to be written to one viewer, with a bound.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::lock::lock;

/// Bytes that may wait; more is dropped.
const MOST: usize = 4 << 20;

/// Bytes in the order in which they go.
#[derive(Debug, Default)]
pub struct Outbox {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Arc<[u8]>>,
    bytes: usize,
    closed: bool,
}

impl Outbox {
    /// Adds bytes where there is room for them. An answer always has room: there are
    /// no more of them than requests, and those come one by one.
    pub fn push(&self, bytes: &Arc<[u8]>, always: bool) -> bool {
        let mut inner = lock(&self.inner);
        // One message alone may be larger than the bound.
        let room = always || inner.bytes == 0 || inner.bytes + bytes.len() <= MOST;
        if inner.closed || !room {
            return false;
        }
        inner.bytes += bytes.len();
        inner.waiting.push_back(Arc::clone(bytes));
        self.changed.notify_one();
        true
    }

    /// Whether at least half of the bound is free again.
    pub fn has_room(&self) -> bool {
        lock(&self.inner).bytes <= MOST / 2
    }

    /// Waits for bytes; none once closed and empty.
    pub fn take(&self) -> Option<Arc<[u8]>> {
        let mut inner = lock(&self.inner);
        loop {
            if let Some(bytes) = inner.waiting.pop_front() {
                inner.bytes -= bytes.len();
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
    pub fn close(&self) {
        lock(&self.inner).closed = true;
        self.changed.notify_all();
    }
}
