//! A connection that fails where its client is too slow: while it opens the connection, while it sends
//! the head of a request, and while it leaves an answer lying.

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

/// Whether a request is being served on a connection of HTTP/1.1. The time for its first head counts
/// from the connection on, that for a later one from the first byte of this.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phase(Arc<ServingPhase>);

#[derive(Debug, Default)]
struct ServingPhase {
    serving: AtomicBool,
    heads: AtomicU64,
}

impl Phase {
    /// A request's head is there.
    pub(crate) fn serves(&self) {
        self.0.heads.fetch_add(1, Ordering::Relaxed);
        self.0.serving.store(true, Ordering::Relaxed);
    }

    /// It was answered.
    pub(crate) fn rests(&self) {
        self.0.serving.store(false, Ordering::Relaxed);
    }

    /// Returns whether the head of a request has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.next_head() > 0
    }

    fn is_serving(&self) -> bool {
        self.0.serving.load(Ordering::Relaxed)
    }

    /// Returns the number of the head that comes next.
    fn next_head(&self) -> u64 {
        self.0.heads.load(Ordering::Relaxed)
    }

    /// Returns the number of the head that is waited for, or `None` while a request is served.
    fn awaited_head(&self) -> Option<u64> {
        (!self.is_serving()).then(|| self.next_head())
    }
}

/// A time limit that is armed while something is waited for.
pub(crate) struct TimeLimit {
    clock: ConnectionClock,
    time: Duration,
    until: Option<ClockWait>,
}

impl TimeLimit {
    /// Creates a limit that is not armed.
    pub(crate) fn of(time: Duration, clock: &ConnectionClock) -> Self {
        TimeLimit {
            clock: clock.clone(),
            time,
            until: None,
        }
    }

    /// That which was waited for is there.
    pub(crate) fn disarm(&mut self) {
        self.until = None;
    }

    /// Arms it, unless it is armed already, and returns whether it has passed.
    pub(crate) fn has_passed(&mut self, context: &mut Context<'_>) -> bool {
        let (time, clock) = (self.time, &self.clock);
        let until = self.until.get_or_insert_with(|| clock.sleep(time));
        Pin::new(&mut *until).poll(context).is_ready() || until.deadline() <= clock.now()
    }
}

/// The bytes by which clients open connections of HTTP/2.
const PREFACE: usize = 24;

/// The bytes that a client has to send within the time for heads.
pub(crate) enum ExpectedBytes {
    /// The heads of requests of HTTP/1.1.
    Heads {
        /// The phase, which tells when one is complete.
        phase: Phase,
        /// The number of the head that is on its way; `None` between requests.
        begun: Option<u64>,
    },
    /// The first bytes of HTTP/2.
    Preface {
        /// Those that have not come.
        left: usize,
    },
}

impl ExpectedBytes {
    /// Expects heads, where `phase` tells when one is complete.
    pub(crate) fn heads(phase: Phase) -> Self {
        let begun = Some(0);
        ExpectedBytes::Heads { phase, begun }
    }

    /// Expects the first bytes of HTTP/2.
    pub(crate) fn preface() -> Self {
        ExpectedBytes::Preface { left: PREFACE }
    }

    /// Notes that bytes have come. Returns whether something begins with them.
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

    /// Returns whether the rest of something is waited for.
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

/// See the module's text.
pub(crate) struct TimedIo<S> {
    stream: S,
    presence: Presence,
    expected: ExpectedBytes,
    /// Whether any byte has come.
    has_sent: bool,
    head: TimeLimit,
    read: TimeLimit,
}

impl<S> TimedIo<S> {
    /// Limits the time for the bytes that are expected, and for reading.
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
            head: TimeLimit::of(limits.header_time, clock),
            read: TimeLimit::of(limits.read_time, clock),
            presence,
        }
    }

    /// Notes that bytes have come.
    fn come(&mut self, bytes: usize) {
        if !self.has_sent {
            self.has_sent = true;
            self.presence.sends();
        }
        if self.expected.come(bytes) {
            self.head.disarm();
        }
    }

    /// Returns why the connection ends, if the client was too slow.
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

/// A client has left an answer lying for too long.
#[derive(Debug, Error)]
#[error("the client did not read its answer in time")]
pub(crate) struct Unread;

fn unread() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, Unread)
}

/// Whether a connection ended because its client left an answer lying.
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

/// A client has sent nothing at all.
#[derive(Debug, Error)]
#[error("the client sent no data")]
struct SilentClient;

/// Returns the error of a client that has asked nothing, so that nothing is answered.
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
