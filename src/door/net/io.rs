//! A connection that fails where its client is too slow: while it sends the head of a request, and
//! while it leaves an answer lying.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Whether a request is being served on a connection. Between requests a connection may stay idle
/// as long as it likes; once the first byte of a request has come, its head has to follow.
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

    fn is_serving(&self) -> bool {
        self.0.serving.load(Ordering::Relaxed)
    }

    /// Returns the number of the head that comes next.
    fn next_head(&self) -> u64 {
        self.0.heads.load(Ordering::Relaxed)
    }
}

/// A time limit that is armed while something is waited for.
pub(crate) struct TimeLimit {
    time: Duration,
    until: Option<Pin<Box<Sleep>>>,
}

impl TimeLimit {
    /// Creates a limit that is not armed.
    pub(crate) fn of(time: Duration) -> Self {
        TimeLimit { time, until: None }
    }

    /// That which was waited for is there.
    pub(crate) fn disarm(&mut self) {
        self.until = None;
    }

    /// Arms it, unless it is armed already, and returns whether it has passed.
    pub(crate) fn has_passed(&mut self, context: &mut Context<'_>) -> bool {
        let time = self.time;
        let until = self.until.get_or_insert_with(|| Box::pin(sleep(time)));
        until.as_mut().poll(context).is_ready() || until.deadline() <= Instant::now()
    }
}

/// See the module's text.
pub(crate) struct TimedIo<S> {
    stream: S,
    /// `None` where the protocol has no heads to wait for.
    phase: Option<Phase>,
    head: TimeLimit,
    read: TimeLimit,
    /// The number of the head of which bytes have come.
    begun: Option<u64>,
}

impl<S> TimedIo<S> {
    /// Limits the time for heads, where `phase` tells when one is complete, and for reading.
    pub(crate) fn new(stream: S, phase: Option<Phase>, head: Duration, read: Duration) -> Self {
        TimedIo {
            stream,
            phase,
            head: TimeLimit::of(head),
            read: TimeLimit::of(read),
            begun: None,
        }
    }

    /// Returns the number of the head that is waited for, or `None` while a request is served.
    fn next_head(&self) -> Option<u64> {
        let phase = self.phase.as_ref().filter(|phase| !phase.is_serving());
        phase.map(Phase::next_head)
    }

    /// Returns whether a head is on its way that is not complete.
    fn waits_for_head(&mut self) -> bool {
        let waits = self.begun.is_some() && self.begun == self.next_head();
        if !waits {
            self.begun = None;
            self.head.disarm();
        }
        waits
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

impl<S: AsyncRead + Unpin> AsyncRead for TimedIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if let Poll::Ready(done) = Pin::new(&mut self.stream).poll_read(context, buffer) {
            let next = self.next_head();
            if buffer.filled().len() > before && self.begun != next {
                self.head.disarm();
                self.begun = next;
            }
            return Poll::Ready(done);
        }
        match self.waits_for_head() && self.head.has_passed(context) {
            true => Poll::Ready(Err(slow())),
            false => Poll::Pending,
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
