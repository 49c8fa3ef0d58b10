//! One viewer, as the server keeps it: its connection, what waits to be written to it, what it was
//! sent, and what it missed.

use std::collections::VecDeque;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar};
use std::time::Duration;

use crate::Audience;
use divisi_runtime::lock::Leaf;

use super::message::Join;

/// A viewer that reads nothing for so long when the server ends is cut off.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes of news that may wait; more is dropped.
const MOST: usize = 4 << 20;
/// Answers that may wait, and their bytes. A console asks for one thing at a time.
const ANSWERS: usize = 256;
const ANSWER_BYTES: usize = 4 << 20;
/// How long whoever writes waits at most before it looks for bytes that woke nobody.
const IDLE: Duration = Duration::from_secs(3600);

/// A viewer and what it knows.
pub(super) struct ViewerState {
    /// The connection to the viewer.
    pub link: Link,
    /// It follows the newest state; otherwise it needs all of it.
    follows: bool,
    /// Spans that were dropped on the way to it.
    lost: u64,
    /// The audience and the count of lost spans that it was sent last.
    told: Option<(Audience, u64)>,
}

/// The messages for all viewers, each encoded once.
#[derive(Default)]
pub(super) struct News {
    /// The whole state, where a viewer needs it.
    pub whole: Option<Arc<[u8]>>,
    /// The change of the state, if there is one.
    pub change: Option<Arc<[u8]>>,
    /// The spans, and how many they are.
    pub spans: Option<(Arc<[u8]>, u64)>,
}

impl ViewerState {
    /// A viewer that knows nothing yet.
    pub(super) fn new(link: Link) -> Self {
        ViewerState {
            link,
            follows: false,
            lost: 0,
            told: None,
        }
    }

    /// It has to be told the whole state, and there is room for it.
    pub(super) fn wants_whole(&self) -> bool {
        !self.follows && self.link.outbox.has_room()
    }

    /// Sends the change, or the whole state where the viewer needs it and there is room.
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

    /// Spans, or their number where there is no room.
    pub(super) fn send_spans(&mut self, news: &News) {
        if let Some((spans, count)) = &news.spans
            && !(self.follows && self.link.outbox.push(spans))
        {
            self.lost += count;
        }
    }

    /// Returns the audience and the number of lost spans if either is new to the viewer and
    /// its outbox has room; they count as sent.
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
    /// The viewer, as it introduced itself.
    pub join: Join,
    /// The messages that wait to be sent.
    pub outbox: Arc<Outbox>,
    /// The connection itself.
    pub stream: UnixStream,
}

impl Link {
    /// Lets what waits be written, for a moment, then ends the connection.
    pub(super) fn close(&self) {
        let _ = self.stream.set_write_timeout(Some(FAREWELL));
        let _ = self.stream.shutdown(Shutdown::Read);
        self.outbox.close();
    }

    /// Says a last word instead of what waits, then ends the connection.
    pub(super) fn cut_off(self, word: Option<Arc<[u8]>>) {
        self.outbox.close_with(word);
        let _ = self.stream.shutdown(Shutdown::Read);
    }
}

/// Bytes in the order in which they go.
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
        let put = self.inner.lock().put(bytes, answer, most);
        self.changed.notify_all();
        put
    }

    /// Whether at least half of the room for news is free again.
    pub(super) fn has_room(&self) -> bool {
        self.inner.lock().news.bytes <= MOST / 2
    }

    /// Waits for bytes; none once closed and empty.
    pub(super) fn take(&self) -> Option<Arc<[u8]>> {
        let mut inner = self.inner.lock();
        loop {
            if let Some(Parcel { bytes, answer }) = inner.waiting.pop_front() {
                inner.of(answer).count -= 1;
                inner.of(answer).bytes -= bytes.len();
                return Some(bytes);
            }
            if inner.closed {
                return None;
            }
            inner = inner.wait_timeout(&self.changed, IDLE);
        }
    }

    /// Takes nothing more; what waits still goes.
    pub(super) fn close(&self) {
        self.inner.lock().closed = true;
        self.changed.notify_all();
    }

    /// Takes nothing more, and instead of what waits a last word goes.
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

    /// Whoever wrote has ended: all is written, or the viewer is gone.
    pub(super) fn end(&self) {
        let mut inner = self.inner.lock();
        (inner.closed, inner.ended) = (true, true);
        self.changed.notify_all();
    }

    /// Waits until whoever writes has ended, for at most `most`.
    pub(super) fn await_end(&self, most: Duration) {
        let inner = self.inner.lock();
        // Late or not, nothing more is waited for.
        drop(inner.wait_timeout_while(&self.changed, most, |i| !i.ended));
    }
}
