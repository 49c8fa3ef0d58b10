//! The bodies of requests, gathered within their bounds, and those of answers, in pieces.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::error::{ErrorKind, ServiceError};
use crate::gateway::Gateway;
use crate::limits::{AllowanceShare, no_memory};
use crate::protocol::{ByteRope, RopeGatherer};

/// The body of an answer: pieces that are sent as they are.
#[derive(Debug, Default)]
pub(crate) struct ChunkedBody(VecDeque<Bytes>);

impl ChunkedBody {
    /// Creates a body of pieces; empty ones are left out.
    pub(crate) fn of(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        ChunkedBody(pieces.into_iter().filter(|p| !p.is_empty()).collect())
    }
}

impl Body for ChunkedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.pop_front();
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let bytes: usize = self.0.iter().map(Bytes::len).sum();
        SizeHint::with_exact(bytes as u64)
    }
}

/// The body of a request. Its bytes count as held until this is dropped.
pub(super) struct HeldBody {
    /// The bytes, in the pieces in which they came.
    pub bytes: ByteRope,
    /// Its share of the memory of bodies.
    pub held: AllowanceShare,
}

/// Gathers the body of a request.
///
/// # Errors
/// It is larger than a bound, comes too slowly, or breaks off.
pub(super) async fn gather(
    gateway: &Gateway,
    body: Incoming,
    most: usize,
) -> Result<HeldBody, ServiceError> {
    let claimed = body.size_hint().lower();
    if claimed > most as u64 {
        return Err(too_large(most));
    }
    let time = gateway.limits.body_time;
    let gathered = tokio::time::timeout(time, gather_all(gateway, body, most));
    gathered.await.unwrap_or_else(|_| {
        let message = format!(
            "the request's body did not come within {} s",
            time.as_secs()
        );
        Err(ServiceError::new(ErrorKind::Slow, message))
    })
}

/// Returns the error of a body of more than `most` bytes.
pub(super) fn too_large(most: usize) -> ServiceError {
    let message = format!("the request's body: expected at most {most} bytes");
    ServiceError::new(ErrorKind::TooLarge, message)
}

async fn gather_all(
    gateway: &Gateway,
    mut body: Incoming,
    most: usize,
) -> Result<HeldBody, ServiceError> {
    let mut held = gateway.bodies.share();
    let mut all = RopeGatherer::default();
    while let Some(frame) = body.frame().await {
        let broken = |e| ServiceError::bad(format!("the request's body broke off: {e}"));
        let Ok(piece) = frame.map_err(broken)?.into_data() else {
            continue;
        };
        if all.len() + piece.len() > most {
            return Err(too_large(most));
        }
        hold(&mut held, piece.len())?;
        all.push(piece);
    }
    let bytes = all.finish();
    Ok(HeldBody { bytes, held })
}

/// Takes room for more bytes.
///
/// # Errors
/// There is none.
pub(super) fn hold(held: &mut AllowanceShare, more: usize) -> Result<(), ServiceError> {
    match held.take(more) {
        true => Ok(()),
        false => Err(no_memory()),
    }
}
