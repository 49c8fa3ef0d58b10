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
use crate::net::{RequestUnderWay, UnreadAnswer};

use super::packed::{AnswerPacker, CallEncoding, PackedAnswer};

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
    /// Packs messages, if the client takes packed ones.
    packer: Option<AnswerPacker>,
    unread: UnreadAnswer,
    _held: Option<HeldBytes>,
    _under_way: RequestUnderWay,
}

impl AnswerBody {
    /// Returns an answer that is watched; its request is under way until it is taken.
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

/// Returns the packer of an answer, and says in its headers that messages are packed. One that has its
/// status among its headers has no messages.
fn packer(answer: &mut Response<tonic::body::Body>) -> Option<AnswerPacker> {
    let encoding = answer.extensions_mut().remove::<CallEncoding>()?.answer?;
    if Status::from_header_map(answer.headers()).is_some() {
        return None;
    }
    CallEncoding::say(encoding, answer.headers_mut());
    Some(AnswerPacker::new(encoding))
}

/// Takes a piece off the rest of an answer. The last byte is a piece of its own, and a copy: it is
/// taken after all before it were, so that a connection whose stream has ended keeps no more.
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

    /// Takes messages, to be packed or as they are.
    fn put(&mut self, bytes: Bytes) {
        match &mut self.packer {
            Some(packer) => packer.put(bytes),
            None => self.rest = bytes,
        }
    }

    /// Packs a piece of a message; others have their turn before the next one.
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
