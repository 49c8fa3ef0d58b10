//! The body of a gRPC call: passes on complete messages. Its bytes count as held memory, and it
//! must arrive in time.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use divisi_runtime::lock::Leaf;
use hyper::body::{Body, Frame};
use tonic::Status;

use crate::limits::AllowanceShare;
use crate::net::{PaceLimit, WaitedBody};
use crate::packing::{Encoding, Unpacker};
use divisi_inference::error::{ErrorKind, ServiceError};

use super::gather::{GatheredMessage, MessageBounds, MessageGatherer, PREFIX};
use super::packed::PACKED;
use super::status::status;

/// A slot where the body of a call leaves a message for its decoder. tonic would copy the message
/// into memory allocated by its claimed length, so it gets an empty message, and the decoder takes
/// the received message from here.
#[derive(Clone, Default)]
pub(super) struct MessageSlot(Arc<Leaf<Option<GatheredMessage>>>);

impl MessageSlot {
    fn put(&self, message: GatheredMessage) {
        *self.0.lock() = Some(message);
    }

    /// Takes the message.
    pub(super) fn take(&self) -> Option<GatheredMessage> {
        self.0.lock().take()
    }
}

/// The destination of messages.
pub(super) enum MessagesTo {
    /// tonic, as received.
    Tonic,
    /// A slot for the decoder.
    Slot(MessageSlot),
}

/// The number of messages of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    /// One message. The whole body must arrive in time.
    Unary,
    /// Any number of messages. Each must arrive in time once it has begun.
    Stream,
}

/// The body of a call.
pub(super) struct CallBody {
    inner: WaitedBody,
    gatherer: MessageGatherer,
    /// The rest of a received piece, with the following messages.
    rest: Bytes,
    to: MessagesTo,
    /// A message for tonic whose prefix was passed on.
    next: Option<Bytes>,
    /// The memory of the message for tonic.
    held: Option<AllowanceShare>,
    kind: BodyKind,
    limit: PaceLimit,
    encoding: Option<Encoding>,
    /// A message that is being unpacked, and the memory of its packed bytes.
    unpacker: Option<Unpacker>,
    packed: Option<AllowanceShare>,
}

impl CallBody {
    /// Creates the body of a call.
    pub(super) fn new(
        inner: WaitedBody,
        bounds: MessageBounds,
        to: MessagesTo,
        kind: BodyKind,
        encoding: Option<Encoding>,
        limit: PaceLimit,
    ) -> Self {
        CallBody {
            encoding,
            unpacker: None,
            packed: None,
            inner,
            gatherer: MessageGatherer::new(bounds),
            rest: Bytes::new(),
            to,
            next: None,
            held: None,
            kind,
            limit,
        }
    }

    /// Passes on a message, starting with its prefix.
    fn hand_on(&mut self, message: GatheredMessage) -> Result<Bytes, Status> {
        let flag = message.flag;
        match (&self.to, self.kind, message.bytes) {
            // A unary call does not wait for the rest; a stream continues.
            (MessagesTo::Tonic, _, Err(error)) | (_, BodyKind::Unary, Err(error)) => {
                Err(status(error))
            }
            (MessagesTo::Slot(slot), _, bytes) => {
                slot.put(GatheredMessage { bytes, ..message });
                Ok(prefix(flag, 0))
            }
            (MessagesTo::Tonic, _, Ok(bytes)) => {
                let prefix = prefix(flag, bytes.len());
                self.next = Some(bytes);
                self.held = Some(message.held);
                Ok(prefix)
            }
        }
    }

    /// Returns the next complete message, unless it must be unpacked first.
    fn gathered(&mut self) -> Result<Option<GatheredMessage>, Status> {
        let message = self.gatherer.take(&mut self.rest)?;
        if message.is_some() && self.kind == BodyKind::Stream {
            self.limit.ends();
        }
        match (message, self.encoding) {
            (
                Some(GatheredMessage {
                    flag: PACKED,
                    bytes: Ok(bytes),
                    held,
                }),
                Some(encoding),
            ) => {
                let MessageBounds { most, bodies } = self.gatherer.bounds();
                self.unpacker = Some(Unpacker::new(bytes, encoding, *most, bodies.share()));
                self.packed = Some(held);
                Ok(None)
            }
            (message, _) => Ok(message),
        }
    }

    /// Unpacks a piece of a message. Returns the message once it is complete or refused.
    fn unpack(&mut self) -> Option<GatheredMessage> {
        let unpacker = self.unpacker.as_mut()?;
        let stepped = unpacker.step(too_large);
        if let Ok(false) = stepped {
            return None;
        }
        self.packed = None;
        let (bytes, held) = self.unpacker.take()?.finish();
        let bytes = stepped.map(|_| bytes);
        Some(GatheredMessage {
            flag: 0,
            bytes,
            held,
        })
    }

    /// Ends the body, which must not end within a message.
    fn end(&self) -> Option<Result<Frame<Bytes>, Status>> {
        let words = "expected the rest of a message, found the end of the call";
        let breaks_off = self.gatherer.is_within();
        breaks_off.then(|| Err(Status::internal(words)))
    }

    /// Waits for more data within the time limit.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.kind == BodyKind::Unary || self.gatherer.is_within() {
            true => (self.limit.poll_wait(context)).map(|error| Some(Err(status(error)))),
            false => Poll::Pending,
        }
    }
}

/// Returns the error of a message that unpacks to more than `most` bytes.
fn too_large(most: usize) -> ServiceError {
    let message = format!("expected a message that unpacks to at most {most} bytes");
    ServiceError::new(ErrorKind::TooLarge, message)
}

/// Returns the prefix of a message.
pub(super) fn prefix(flag: u8, length: usize) -> Bytes {
    let mut bytes = [flag; PREFIX];
    // The length was received in four bytes.
    bytes[1..].copy_from_slice(&(length as u32).to_be_bytes());
    Bytes::copy_from_slice(&bytes)
}

impl Body for CallBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        loop {
            if let Some(bytes) = self.next.take() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            let message = match self.unpacker.is_some() {
                true => self.unpack(),
                false => self.gathered()?,
            };
            if let Some(message) = message {
                let bytes = self.hand_on(message)?;
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if self.unpacker.is_some() {
                // Yields to other tasks.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let frame = match Pin::new(&mut self.inner).poll_frame(context) {
                Poll::Pending => return self.wait(context),
                Poll::Ready(None) => return Poll::Ready(self.end()),
                Poll::Ready(Some(frame)) => frame,
            };
            let frame = frame.map_err(|e| Status::internal(e.to_string()))?;
            match frame.into_data() {
                Ok(piece) => {
                    self.limit.bytes_received(piece.len());
                    self.rest = piece;
                }
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let nothing_left = self.rest.is_empty() && self.next.is_none() && self.unpacker.is_none();
        nothing_left && !self.gatherer.is_within() && self.inner.is_end_stream()
    }
}
