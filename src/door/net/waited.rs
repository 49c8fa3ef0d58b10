//! The body of a request. While more of it is awaited, its connection counts as receiving and may
//! be closed for a new one if nothing arrives.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::presence::{BodyWait, Presence};

/// The body of a request on a connection.
pub(crate) struct WaitedBody {
    inner: Incoming,
    /// Its connection; `None` if waiting does not count.
    presence: Option<Presence>,
    waits: Option<BodyWait>,
}

impl WaitedBody {
    /// Creates the body of a request on a connection.
    pub(crate) fn new(inner: Incoming, presence: Presence) -> Self {
        WaitedBody {
            inner,
            presence: Some(presence),
            waits: None,
        }
    }

    /// Returns the body of a stream, which is in progress even between its messages.
    pub(crate) fn of_stream(self) -> Self {
        WaitedBody {
            presence: None,
            waits: None,
            ..self
        }
    }

    /// Returns whether more is awaited although the connection has made room.
    pub(crate) fn is_cut(&self) -> bool {
        self.waits.as_ref().is_some_and(BodyWait::is_cut)
    }

    fn begin_wait(&mut self) {
        if self.waits.is_none() {
            self.waits = self.presence.as_ref().map(Presence::waits);
        }
    }
}

impl Body for WaitedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        match polled.is_pending() {
            true => self.begin_wait(),
            false => self.waits = None,
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
