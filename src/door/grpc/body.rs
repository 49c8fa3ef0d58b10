//! The body of a call of gRPC: its bytes count as held, and it has to come in time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use divisi::lock::Leaf;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};
use tonic::Status;

use crate::error::{ErrorKind, ServiceError};
use crate::limits::{AllowanceShare, no_memory};

/// The bytes of a call that are held until it is answered.
pub(super) type HeldBytes = Arc<Leaf<AllowanceShare>>;

/// See the module's text.
pub(super) struct CallBody {
    inner: Incoming,
    bound: Option<CallBound>,
}

struct CallBound {
    held: HeldBytes,
    until: Pin<Box<Sleep>>,
}

impl CallBody {
    /// The body of a call with one request, which counts as held by `held`.
    pub(super) fn bounded(inner: Incoming, held: HeldBytes, time: Duration) -> Self {
        let until = Box::pin(sleep(time));
        CallBody {
            inner,
            bound: Some(CallBound { held, until }),
        }
    }

    /// The body of a stream of requests, each of which is counted by itself. It may take as long
    /// as it likes.
    pub(super) fn unbounded(inner: Incoming) -> Self {
        CallBody { inner, bound: None }
    }
}

impl CallBound {
    fn take(&self, bytes: usize) -> Result<(), Status> {
        match self.held.lock().take(bytes) {
            true => Ok(()),
            false => Err(no_memory().into()),
        }
    }
}

fn slow() -> Status {
    ServiceError::new(ErrorKind::Slow, "the request did not come in time").into()
}

impl Body for CallBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let CallBody { inner, bound } = &mut *self;
        if let Poll::Ready(frame) = Pin::new(inner).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| {
                let frame = frame.map_err(|e| Status::internal(e.to_string()))?;
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                bound.as_ref().map_or(Ok(()), |bound| bound.take(bytes))?;
                Ok(frame)
            }));
        }
        let Some(bound) = bound else {
            return Poll::Pending;
        };
        ready!(bound.until.as_mut().poll(context));
        Poll::Ready(Some(Err(slow())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
