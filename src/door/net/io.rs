//! A connection that fails where its client is too slow: while it sends the head of a request, and
//! while it leaves an answer lying.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Whether a request is being served on a connection. Between requests a connection may stay idle
/// as long as it likes; once the first byte of a request has come, its head has to follow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phase(Arc<AtomicBool>);

impl Phase {
    /// A request's head is there.
    pub(crate) fn serves(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// It was answered.
    pub(crate) fn rests(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    fn is_serving(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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
    /// Whether bytes of a head have come that is not complete.
    begun: bool,
}

impl<S> TimedIo<S> {
    /// Limits the time for heads, where `phase` tells when one is complete, and for reading.
    pub(crate) fn new(stream: S, phase: Option<Phase>, head: Duration, read: Duration) -> Self {
        TimedIo {
            stream,
            phase,
            head: TimeLimit::of(head),
            read: TimeLimit::of(read),
            begun: false,
        }
    }

    /// Returns whether a head is on its way that is not complete.
    fn waits_for_head(&mut self) -> bool {
        if self.phase.as_ref().is_none_or(Phase::is_serving) {
            self.begun = false;
            self.head.disarm();
        }
        self.begun
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
            Poll::Pending if self.read.has_passed(context) => Poll::Ready(Err(slow())),
            Poll::Pending => Poll::Pending,
        }
    }
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
            let is_head = self.phase.as_ref().is_some_and(|phase| !phase.is_serving());
            self.begun |= is_head && buffer.filled().len() > before;
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
