//! The bodies of requests, gathered within their bounds, and those of answers, in pieces.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::gateway::Gateway;
use crate::limits::{AllowanceShare, no_memory};
use crate::net::{PaceLimit, RequestUnderWay, WaitedBody};
use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::{ByteRope, RopeGatherer};

/// The body of an answer in pieces that are sent unchanged.
#[derive(Default)]
pub(crate) struct ChunkedBody {
    pieces: VecDeque<Bytes>,
    /// Its request is in progress while there are pieces left.
    _under_way: Option<RequestUnderWay>,
}

impl ChunkedBody {
    /// Creates a body from pieces, without empty ones.
    pub(crate) fn from_pieces(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        ChunkedBody {
            pieces: pieces.into_iter().filter(|p| !p.is_empty()).collect(),
            _under_way: None,
        }
    }

    /// Returns the body of the answer to a request that is in progress until the body is read.
    pub(super) fn of_request(self, under_way: RequestUnderWay) -> Self {
        ChunkedBody {
            _under_way: Some(under_way),
            ..self
        }
    }
}

impl Body for ChunkedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.pieces.pop_front();
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let bytes: usize = self.pieces.iter().map(Bytes::len).sum();
        SizeHint::with_exact(bytes as u64)
    }
}

/// The body of a request. Its bytes count as held memory until it is dropped.
pub(super) struct HeldBody {
    /// The bytes in their received pieces.
    pub bytes: ByteRope,
    /// Its share of the memory of bodies.
    pub held: AllowanceShare,
}

/// Gathers the body of a request.
///
/// # Errors
/// Returns an error if the body exceeds a bound, arrives too slowly, or is incomplete.
pub(super) async fn gather(
    gateway: &Gateway,
    body: WaitedBody,
    most: usize,
) -> Result<HeldBody, ServiceError> {
    let claimed = body.size_hint().lower();
    if claimed > most as u64 {
        return Err(too_large(most));
    }
    gather_all(gateway, body, most).await
}

/// Returns the error of a body of more than `most` bytes.
pub(super) fn too_large(most: usize) -> ServiceError {
    let message = format!("the request's body: expected at most {most} bytes");
    ServiceError::new(ErrorKind::TooLarge, message)
}

async fn gather_all(
    gateway: &Gateway,
    mut body: WaitedBody,
    most: usize,
) -> Result<HeldBody, ServiceError> {
    let mut held = gateway.bodies.share();
    let mut all = RopeGatherer::announced(body.size_hint().lower());
    let mut pace = PaceLimit::new(&gateway.limits, &gateway.clock);
    while let Some(frame) = next_frame(&mut body, &mut pace).await? {
        let broken = |e| ServiceError::bad(format!("the request's body is incomplete: {e}"));
        let Ok(piece) = frame.map_err(broken)?.into_data() else {
            continue;
        };
        if all.len() + piece.len() > most {
            return Err(too_large(most));
        }
        hold(&mut held, piece.len())?;
        pace.bytes_received(piece.len());
        all.push(piece);
    }
    let bytes = all.finish();
    Ok(HeldBody { bytes, held })
}

/// Waits for the next piece of a body, or returns `None` at its end.
///
/// # Errors
/// Returns an error if the body is too slow or another client needs the connection's place.
async fn next_frame(
    body: &mut WaitedBody,
    pace: &mut PaceLimit,
) -> Result<Option<hyper::Result<Frame<Bytes>>>, ServiceError> {
    poll_fn(|context| match Pin::new(&mut *body).poll_frame(context) {
        Poll::Ready(frame) => Poll::Ready(Ok(frame)),
        Poll::Pending if body.is_cut() => Poll::Ready(Err(stalled())),
        Poll::Pending => pace.poll_wait(context).map(Err),
    })
    .await
}

/// Returns the error of a stalled body whose connection must make room.
fn stalled() -> ServiceError {
    let message = "the request's body stalled while another client needed the connection";
    ServiceError::new(ErrorKind::Slow, message)
}

/// Reserves memory for more bytes.
///
/// # Errors
/// Returns an error if there is no memory left.
pub(super) fn hold(held: &mut AllowanceShare, more: usize) -> Result<(), ServiceError> {
    match held.take(more) {
        true => Ok(()),
        false => Err(no_memory()),
    }
}
