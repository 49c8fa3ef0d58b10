//! A viewer as the server keeps it: its connection, queued messages, the last messages sent, and
//! the messages missed.

use std::collections::VecDeque;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar};
use std::time::Duration;

use crate::Audience;
use divisi_runtime::lock::Leaf;

use super::message::Join;

/// The time after which a viewer that reads nothing is disconnected when the server ends.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);
/// The bytes of news that may wait; further news is dropped.
const MOST: usize = 4 << 20;
/// The number of answers that may wait. A console sends one request at a time.
const ANSWERS: usize = 256;
const ANSWER_BYTES: usize = 4 << 20;
/// The longest sleep of the writer before it checks for bytes again.
const IDLE: Duration = Duration::from_secs(3600);

/// A viewer and the last message about itself that was sent to it.
pub(super) struct ViewerState {
    pub link: Link,
    /// The spans dropped on the way to it.
    lost: u64,
    /// The audience and the count of lost spans last sent to it.
    told: Option<(Audience, u64)>,
}

/// The messages for all viewers, each encoded once.
#[derive(Default)]
pub(super) struct News {
    /// The state, if it was polled.
    pub state: Option<Arc<[u8]>>,
    /// The spans and their number.
    pub spans: Option<(Arc<[u8]>, u64)>,
}

impl ViewerState {
    /// Creates a viewer that has received nothing.
    pub(super) fn new(link: Link) -> Self {
        ViewerState {
            link,
            lost: 0,
            told: None,
        }
    }

    /// Sends the state and the spans. A state without room is left out, since the next one replaces
    /// it; spans without room count as lost.
    pub(super) fn send(&mut self, news: &News) {
        let outbox = &self.link.outbox;
        if let Some(state) = &news.state {
            outbox.push(state);
        }
        if let Some((spans, count)) = &news.spans
            && !outbox.push(spans)
        {
            self.lost += count;
        }
    }

    /// Returns the audience and the number of lost spans if either has changed and the outbox has
    /// room; they count as sent.
    pub(super) fn news_of_itself(&mut self, audience: Audience) -> Option<(Audience, u64)> {
        let told = Some((audience, self.lost));
        if self.told == told || !self.link.outbox.has_room() {
            return None;
        }
        self.told.clone_from(&told);
        told
    }
}

/// The server's end of a connection.
pub(super) struct Link {
    /// The number of the connection.
    pub number: u64,
    /// The viewer's introduction.
    pub join: Join,
    /// The messages to send.
    pub outbox: Arc<Outbox>,
    pub stream: UnixStream,
}

impl Link {
    /// Allows a moment for writing queued messages, then ends the connection.
    pub(super) fn close(&self) {
        let _ = self.stream.set_write_timeout(Some(FAREWELL));
        let _ = self.stream.shutdown(Shutdown::Read);
        self.outbox.close();
    }

    /// Sends a last message instead of the queued ones, then ends the connection.
    pub(super) fn cut_off(self, word: Option<Arc<[u8]>>) {
        self.outbox.close_with(word);
        let _ = self.stream.shutdown(Shutdown::Read);
    }
}

/// The messages to send: answers first, since news do not depend on them.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    inner: Leaf<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    answers: ViewerQueue,
    news: ViewerQueue,
    closed: bool,
    /// Whether the writer has ended.
    ended: bool,
}

#[derive(Debug, Default)]
struct ViewerQueue {
    messages: VecDeque<Arc<[u8]>>,
    bytes: usize,
}

impl ViewerQueue {
    /// Adds a message if fewer than `count` wait and it fits into `most` bytes. A single message may
    /// exceed the bounds.
    fn put(&mut self, message: &Arc<[u8]>, count: usize, most: usize) -> bool {
        let bytes = self.bytes + message.len();
        let fits = self.messages.len() < count && bytes <= most;
        if !fits && !self.messages.is_empty() {
            return false;
        }
        self.bytes = bytes;
        self.messages.push_back(Arc::clone(message));
        true
    }

    fn take(&mut self) -> Option<Arc<[u8]>> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.len();
        Some(message)
    }
}

impl Outbox {
    /// Adds news if there is room.
    pub(super) fn push(&self, bytes: &Arc<[u8]>) -> bool {
        self.put(|inner| inner.news.put(bytes, usize::MAX, MOST))
    }

    /// Adds an answer. Returns `false` if so many are waiting that the viewer cannot be reading
    /// them.
    pub(super) fn answer(&self, bytes: &Arc<[u8]>) -> bool {
        self.put(|inner| inner.answers.put(bytes, ANSWERS, ANSWER_BYTES))
    }

    fn put(&self, put: impl FnOnce(&mut Inner) -> bool) -> bool {
        let mut inner = self.inner.lock();
        let put = !inner.closed && put(&mut inner);
        self.changed.notify_all();
        put
    }

    /// Returns whether at least half of the room for news is free.
    pub(super) fn has_room(&self) -> bool {
        self.inner.lock().news.bytes <= MOST / 2
    }

    /// Waits for bytes. Returns `None` when closed and empty.
    pub(super) fn take(&self) -> Option<Arc<[u8]>> {
        let mut inner = self.inner.lock();
        loop {
            let message = inner.answers.take().or_else(|| inner.news.take());
            if message.is_some() || inner.closed {
                return message;
            }
            inner = inner.wait_timeout(&self.changed, IDLE);
        }
    }

    /// Accepts no more messages; queued ones are still sent.
    pub(super) fn close(&self) {
        self.inner.lock().closed = true;
        self.changed.notify_all();
    }

    /// Accepts no more messages, and replaces the queued ones by a last message.
    fn close_with(&self, word: Option<Arc<[u8]>>) {
        let mut inner = self.inner.lock();
        inner.answers = ViewerQueue::default();
        inner.news = ViewerQueue::default();
        if let Some(word) = word {
            inner.news.put(&word, 1, MOST);
        }
        inner.closed = true;
        self.changed.notify_all();
    }

    /// Records that the writer has ended: all is written, or the viewer has left.
    pub(super) fn end(&self) {
        let mut inner = self.inner.lock();
        (inner.closed, inner.ended) = (true, true);
        self.changed.notify_all();
    }

    /// Waits until the writer has ended, for at most `most`.
    pub(super) fn await_end(&self, most: Duration) {
        let inner = self.inner.lock();
        // The result does not matter: nothing waits longer.
        drop(inner.wait_timeout_while(&self.changed, most, |i| !i.ended));
    }
}
