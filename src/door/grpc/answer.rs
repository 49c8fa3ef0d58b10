//! The body of a gRPC answer, in pieces. It holds the memory of the call until it is read, and
//! detects a client that reads nothing.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body, Frame};
use tonic::Status;

use crate::limits::AllowanceShare;
use crate::net::{RequestUnderWay, UnreadAnswer};

use super::packed::{AnswerPacker, CallEncoding, PackedAnswer};

/// The memory of a call, held until its answer is read; an extension of the answer.
pub(super) type HeldBytes = Arc<AllowanceShare>;

/// The size of a piece. A connection buffers a piece until its client reads it, so it gets one
/// piece at a time.
const PIECE: usize = 64 << 10;

/// The body of an answer.
pub(super) struct AnswerBody {
    inner: tonic::body::Body,
    /// The rest of the answer so far.
    rest: Bytes,
    /// Compresses messages if the client accepts it.
    packer: Option<AnswerPacker>,
    unread: UnreadAnswer,
    _held: Option<HeldBytes>,
    _under_way: RequestUnderWay,
}

impl AnswerBody {
    /// Returns a watched answer whose request is in progress until it is read.
    pub(super) fn watch(
        mut answer: Response<tonic::body::Body>,
        under_way: RequestUnderWay,
    ) -> Response<AnswerBody> {
        let held = answer.extensions_mut().remove::<HeldBytes>();
        let packer = packer(&mut answer);
        answer.map(|inner| AnswerBody {
            inner,
            rest: Bytes::new(),
            packer,
            unread: UnreadAnswer::of_this_stream(),
            _held: held,
            _under_way: under_way,
        })
    }
}

/// Returns the packer of an answer, and adds the encoding to its headers. An answer with its status
/// in the headers has no messages.
fn packer(answer: &mut Response<tonic::body::Body>) -> Option<AnswerPacker> {
    let encoding = answer.extensions_mut().remove::<CallEncoding>()?.answer?;
    if Status::from_header_map(answer.headers()).is_some() {
        return None;
    }
    CallEncoding::say(encoding, answer.headers_mut());
    Some(AnswerPacker::new(encoding))
}

/// Takes a piece off the rest of an answer. The last byte is a copied piece of its own: the
/// connection takes it only after all earlier bytes, so that it does not keep the buffer after the
/// stream has ended.
fn piece(rest: &mut Bytes) -> Bytes {
    match rest.len() {
        0 | 1 => Bytes::copy_from_slice(&std::mem::take(rest)),
        left => rest.split_to(PIECE.min(left - 1)),
    }
}

impl AnswerBody {
    fn is_packing(&self) -> bool {
        let packer = self.packer.as_ref();
        packer.is_some_and(|packer| !packer.is_empty())
    }

    /// Adds messages, to be compressed if there is a packer.
    fn put(&mut self, bytes: Bytes) {
        match &mut self.packer {
            Some(packer) => packer.put(bytes),
            None => self.rest = bytes,
        }
    }

    /// Compresses a piece of a message, then yields to other tasks.
    fn poll_packed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.packer.as_mut().map(AnswerPacker::step) {
            Some(PackedAnswer::Working) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Some(PackedAnswer::Ready(bytes)) => {
                self.rest = bytes;
                Poll::Ready(())
            }
            Some(PackedAnswer::Empty) | None => Poll::Ready(()),
        }
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
        while self.rest.is_empty() {
            if self.is_packing() {
                ready!(self.poll_packed(context));
                continue;
            }
            let next = Pin::new(&mut self.inner).poll_frame(context);
            let Some(frame) = ready!(next).transpose()? else {
                return Poll::Ready(None);
            };
            match frame.into_data() {
                Ok(bytes) => self.put(bytes),
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        self.unread.hands();
        Poll::Ready(Some(Ok(Frame::data(piece(&mut self.rest)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && !self.is_packing() && self.inner.is_end_stream()
    }
}
