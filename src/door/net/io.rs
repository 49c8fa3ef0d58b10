//! A connection with time limits for slow clients: while opening the connection, while sending a
//! request's head, and while leaving an answer unread.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::clock::{ClockWait, ConnectionClock};
use crate::limits::ServerLimits;

use super::presence::Presence;

/// Whether a request is being served on an HTTP/1.1 connection. The time for the first head starts
/// with the connection, for later ones with their first byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phase(Arc<ServingPhase>);

#[derive(Debug, Default)]
struct ServingPhase {
    serving: AtomicBool,
    heads: AtomicU64,
}

impl Phase {
    /// Records that a request's head has arrived.
    pub(crate) fn serves(&self) {
        self.0.heads.fetch_add(1, Ordering::Relaxed);
        self.0.serving.store(true, Ordering::Relaxed);
    }

    /// Records that the request was answered.
    pub(crate) fn rests(&self) {
        self.0.serving.store(false, Ordering::Relaxed);
    }

    /// Returns whether the head of a request has arrived.
    pub(crate) fn has_begun(&self) -> bool {
        self.next_head() > 0
    }

    fn is_serving(&self) -> bool {
        self.0.serving.load(Ordering::Relaxed)
    }

    /// Returns the number of the next head.
    fn next_head(&self) -> u64 {
        self.0.heads.load(Ordering::Relaxed)
    }

    /// Returns the number of the awaited head, or `None` while a request is served.
    fn awaited_head(&self) -> Option<u64> {
        (!self.is_serving()).then(|| self.next_head())
    }
}

/// A time limit that is armed while waiting.
pub(crate) struct TimeLimit {
    clock: ConnectionClock,
    time: Duration,
    until: Option<ClockWait>,
}

impl TimeLimit {
    /// Creates a limit that is not armed.
    pub(crate) fn new(time: Duration, clock: &ConnectionClock) -> Self {
        TimeLimit {
            clock: clock.clone(),
            time,
            until: None,
        }
    }

    /// Disarms the limit.
    pub(crate) fn disarm(&mut self) {
        self.until = None;
    }

    /// Arms the limit if it is not armed, and returns whether it has passed.
    pub(crate) fn has_passed(&mut self, context: &mut Context<'_>) -> bool {
        let (time, clock) = (self.time, &self.clock);
        let until = self.until.get_or_insert_with(|| clock.sleep(time));
        Pin::new(&mut *until).poll(context).is_ready() || until.deadline() <= clock.now()
    }
}

/// The length of the HTTP/2 connection preface.
const PREFACE: usize = 24;

/// The bytes that a client must send within the time for heads.
pub(crate) enum ExpectedBytes {
    /// The heads of HTTP/1.1 requests.
    Heads {
        /// Knows when a head is complete.
        phase: Phase,
        /// The number of the partly received head; `None` between requests.
        begun: Option<u64>,
    },
    /// The HTTP/2 preface.
    Preface {
        /// The bytes that are missing.
        left: usize,
    },
}

impl ExpectedBytes {
    /// Expects heads; `phase` knows when one is complete.
    pub(crate) fn heads(phase: Phase) -> Self {
        let begun = Some(0);
        ExpectedBytes::Heads { phase, begun }
    }

    /// Expects the HTTP/2 preface.
    pub(crate) fn preface() -> Self {
        ExpectedBytes::Preface { left: PREFACE }
    }

    /// Records received bytes. Returns whether they start a head or preface.
    fn come(&mut self, bytes: usize) -> bool {
        match self {
            ExpectedBytes::Heads { phase, begun } => {
                let next = phase.awaited_head();
                let begins = *begun != next;
                *begun = next;
                begins
            }
            ExpectedBytes::Preface { left } => {
                *left = left.saturating_sub(bytes);
                false
            }
        }
    }

    /// Returns whether more bytes are awaited.
    fn waits(&mut self) -> bool {
        match self {
            ExpectedBytes::Heads { phase, begun } => {
                if *begun != phase.awaited_head() {
                    *begun = None;
                }
                begun.is_some()
            }
            ExpectedBytes::Preface { left } => *left > 0,
        }
    }
}

/// A connection with time limits.
pub(crate) struct TimedIo<S> {
    stream: S,
    presence: Presence,
    expected: ExpectedBytes,
    /// Whether any byte has arrived.
    has_sent: bool,
    head: TimeLimit,
    read: TimeLimit,
}

impl<S> TimedIo<S> {
    /// Limits the time for the expected bytes, and for reading answers.
    pub(crate) fn new(
        stream: S,
        presence: Presence,
        expected: ExpectedBytes,
        limits: &ServerLimits,
    ) -> Self {
        let clock = presence.clock();
        TimedIo {
            stream,
            expected,
            has_sent: false,
            head: TimeLimit::new(limits.header_time, clock),
            read: TimeLimit::new(limits.read_time, clock),
            presence,
        }
    }

    /// Records received bytes.
    fn come(&mut self, bytes: usize) {
        if !self.has_sent {
            self.has_sent = true;
            self.presence.sends();
        }
        if self.expected.come(bytes) {
            self.head.disarm();
        }
    }

    /// Returns the error that ends the connection if the client was too slow.
    fn late(&mut self, context: &mut Context<'_>) -> Option<io::Error> {
        if !self.expected.waits() {
            self.head.disarm();
            return None;
        }
        let is_late = self.head.has_passed(context);
        is_late.then(|| if self.has_sent { slow() } else { silent() })
    }

    fn written(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(done) => {
                self.read.disarm();
                Poll::Ready(done)
            }
            Poll::Pending if self.read.has_passed(context) => Poll::Ready(Err(unread())),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// The client left an answer unread for too long.
#[derive(Debug, Error)]
#[error("the client did not read its answer in time")]
pub(crate) struct Unread;

fn unread() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, Unread)
}

/// Returns whether a connection ended because its client left an answer unread.
pub(crate) fn is_unread(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut sources = std::iter::successors(Some(error), |error| error.source());
    sources.any(|error| {
        let of_system = error.downcast_ref::<io::Error>();
        let inner = of_system.and_then(io::Error::get_ref);
        inner.is_some_and(|inner| inner.is::<Unread>())
    })
}

fn slow() -> io::Error {
    io::Error::from(io::ErrorKind::TimedOut)
}

/// The client sent no data.
#[derive(Debug, Error)]
#[error("the client sent no data")]
struct SilentClient;

/// Returns the error for a client without any request, which gets no answer.
fn silent() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, SilentClient)
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if let Poll::Ready(done) = Pin::new(&mut self.stream).poll_read(context, buffer) {
            let bytes = buffer.filled().len() - before;
            if bytes > 0 {
                self.come(bytes);
            }
            return Poll::Ready(done);
        }
        match self.late(context) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = ready!(Pin::new(&mut self.stream).poll_shutdown(context));
        Poll::Ready(done)
    }
}
