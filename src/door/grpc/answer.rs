//! The body of an answer of gRPC, in pieces: what was held for the call is held until it is read, and
//! a connection that takes none of them is noticed.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body, Frame};
use tonic::Status;

use crate::limits::AllowanceShare;
use crate::net::UnreadAnswer;

/// The memory that a call holds until its answer is read; an extension of the answer.
pub(super) type HeldBytes = Arc<AllowanceShare>;

/// The bytes of a piece. A connection keeps what it has taken of a piece until its client takes it,
/// so it has one at a time.
const PIECE: usize = 64 << 10;

/// See the module's text.
pub(super) struct AnswerBody {
    inner: tonic::body::Body,
    /// The rest of what the answer consists of so far.
    rest: Bytes,
    unread: UnreadAnswer,
    _held: Option<HeldBytes>,
}

impl AnswerBody {
    /// Returns an answer that is watched.
    pub(super) fn watch(mut answer: Response<tonic::body::Body>) -> Response<AnswerBody> {
        let held = answer.extensions_mut().remove::<HeldBytes>();
        answer.map(|inner| AnswerBody {
            inner,
            rest: Bytes::new(),
            unread: UnreadAnswer::of_this_stream(),
            _held: held,
        })
    }
}

/// Takes a piece off the rest of an answer. The last byte is a piece of its own, and a copy: it is
/// taken after all before it were, so that a connection whose stream has ended keeps no more.
fn piece(rest: &mut Bytes) -> Bytes {
    match rest.len() {
        0 | 1 => Bytes::copy_from_slice(&std::mem::take(rest)),
        left => rest.split_to(PIECE.min(left - 1)),
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        self.unread.is_taken();
        if self.rest.is_empty() {
            let next = Pin::new(&mut self.inner).poll_frame(context);
            let Some(frame) = ready!(next).transpose()? else {
                return Poll::Ready(None);
            };
            match frame.into_data() {
                Ok(bytes) => self.rest = bytes,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        self.unread.hands();
        Poll::Ready(Some(Ok(Frame::data(piece(&mut self.rest)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }
}
