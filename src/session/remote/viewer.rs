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

/// A viewer and the state that it has received.
pub(super) struct ViewerState {
    pub link: Link,
    /// Whether it has the newest state; otherwise it needs the complete state.
    follows: bool,
    /// The spans dropped on the way to it.
    lost: u64,
    /// The audience and the count of lost spans last sent to it.
    told: Option<(Audience, u64)>,
}

/// The messages for all viewers, each encoded once.
#[derive(Default)]
pub(super) struct News {
    /// The complete state, if a viewer needs it.
    pub whole: Option<Arc<[u8]>>,
    /// The change of the state, if there is one.
    pub change: Option<Arc<[u8]>>,
    /// The spans and their number.
    pub spans: Option<(Arc<[u8]>, u64)>,
}

impl ViewerState {
    /// Creates a viewer that has received nothing.
    pub(super) fn new(link: Link) -> Self {
        ViewerState {
            link,
            follows: false,
            lost: 0,
            told: None,
        }
    }

    /// Returns whether it needs the complete state and has room for it.
    pub(super) fn wants_whole(&self) -> bool {
        !self.follows && self.link.outbox.has_room()
    }

    /// Sends the change, or the complete state if the viewer needs it and has room.
    pub(super) fn send_state(&mut self, news: &News) {
        let outbox = &self.link.outbox;
        if self.follows {
            if let Some(change) = &news.change {
                self.follows = outbox.push(change);
            }
        } else if let (true, Some(whole)) = (outbox.has_room(), &news.whole) {
            self.follows = outbox.push(whole);
        }
    }

    /// Sends spans, or counts them as lost if there is no room.
    pub(super) fn send_spans(&mut self, news: &News) {
        if let Some((spans, count)) = &news.spans
            && !(self.follows && self.link.outbox.push(spans))
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

/// The bytes to send, in order.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    inner: Leaf<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Parcel>,
    news: Waiting,
    answers: Waiting,
    closed: bool,
    /// Whether the writer has ended.
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
    /// Returns whether this many more bytes fit. A single message may exceed the bound.
    fn has_room(self, more: usize, most: Waiting) -> bool {
        self.count == 0 || (self.count < most.count && self.bytes + more <= most.bytes)
    }
}

impl Inner {
    fn bound_for(&mut self, answer: bool) -> &mut Waiting {
        match answer {
            true => &mut self.answers,
            false => &mut self.news,
        }
    }

    fn put(&mut self, bytes: &Arc<[u8]>, answer: bool, most: Waiting) -> bool {
        if self.closed || !self.bound_for(answer).has_room(bytes.len(), most) {
            return false;
        }
        self.bound_for(answer).count += 1;
        self.bound_for(answer).bytes += bytes.len();
        let bytes = Arc::clone(bytes);
        self.waiting.push_back(Parcel { bytes, answer });
        true
    }
}

impl Outbox {
    /// Adds news if there is room.
    pub(super) fn push(&self, bytes: &Arc<[u8]>) -> bool {
        let most = Waiting {
            count: usize::MAX,
            bytes: MOST,
        };
        self.put(bytes, false, most)
    }

    /// Adds an answer. Returns `false` if so many are waiting that the viewer cannot be reading
    /// them.
    pub(super) fn answer(&self, bytes: &Arc<[u8]>) -> bool {
        let most = Waiting {
            count: ANSWERS,
            bytes: ANSWER_BYTES,
        };
        self.put(bytes, true, most)
    }

    fn put(&self, bytes: &Arc<[u8]>, answer: bool, most: Waiting) -> bool {
        let put = self.inner.lock().put(bytes, answer, most);
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
            if let Some(Parcel { bytes, answer }) = inner.waiting.pop_front() {
                inner.bound_for(answer).count -= 1;
                inner.bound_for(answer).bytes -= bytes.len();
                return Some(bytes);
            }
            if inner.closed {
                return None;
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
        inner.waiting.clear();
        (inner.news, inner.answers) = Default::default();
        if let Some(word) = word {
            let most = Waiting::default();
            inner.put(&word, false, most);
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
