//! Messages of any size: they are measured before they are decoded, and count as held memory until
//! they are answered.

use std::marker::PhantomData;

use bytes::Bytes;
use prost::Message;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic_prost::ProstEncoder;

use crate::limits::{AllowanceShare, ServerLimits, no_memory};
use divisi_inference::error::{ErrorKind, ServiceError};

use super::body::MessageSlot;
use super::gather::GatheredMessage;
use super::wire::{BoundedMessage, WireFault, decoded_size};

/// A received message.
pub(super) struct ReceivedMessage<M> {
    /// The message, or the reason for its refusal.
    pub read: Result<M, RefusedMessage>,
    /// Its share of the memory of bodies.
    pub held: AllowanceShare,
}

/// A refused message.
pub(super) struct RefusedMessage {
    /// The reason.
    pub error: ServiceError,
    /// Its bytes; empty if they were not received.
    pub bytes: Bytes,
}

/// Reads requests `M` from the slot of their call, and writes answers `A`.
pub(super) struct MessageCodec<M, A> {
    slot: MessageSlot,
    limits: ServerLimits,
    of: PhantomData<fn() -> (M, A)>,
}

impl<M, A> MessageCodec<M, A> {
    /// Creates the codec of a call with a slot.
    pub(super) fn new(slot: MessageSlot, limits: ServerLimits) -> Self {
        let of = PhantomData;
        MessageCodec { slot, limits, of }
    }
}

impl<M: BoundedMessage, A: Message + 'static> Codec for MessageCodec<M, A> {
    type Encode = A;
    type Decode = ReceivedMessage<M>;
    type Encoder = ProstEncoder<A>;
    type Decoder = MessageDecoder<M>;

    fn encoder(&mut self) -> ProstEncoder<A> {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> MessageDecoder<M> {
        MessageDecoder {
            slot: self.slot.clone(),
            limits: self.limits,
            of: PhantomData,
        }
    }
}

/// See [`MessageCodec`].
pub(super) struct MessageDecoder<M> {
    slot: MessageSlot,
    limits: ServerLimits,
    of: PhantomData<fn() -> M>,
}

impl<M: BoundedMessage> Decoder for MessageDecoder<M> {
    type Item = ReceivedMessage<M>;
    type Error = Status;

    /// Decodes the message in the slot; the buffer is that of an empty message.
    fn decode(&mut self, _: &mut DecodeBuf<'_>) -> Result<Option<ReceivedMessage<M>>, Status> {
        let message = self.slot.take();
        let message = message.ok_or_else(|| Status::internal("expected a message, found none"))?;
        received(message, &self.limits).map(Some)
    }
}

/// Decodes a message, unless it is refused.
///
/// # Errors
/// Returns an error if the message is malformed.
fn received<M: BoundedMessage>(
    message: GatheredMessage,
    limits: &ServerLimits,
) -> Result<ReceivedMessage<M>, Status> {
    let GatheredMessage {
        bytes, mut held, ..
    } = message;
    let refuse = |error, bytes| Err(RefusedMessage { error, bytes });
    let read = match bytes.map(|bytes| (decoded_size::<M>(&bytes, limits), bytes)) {
        Ok((Ok(size), bytes)) if held.take(size) => Ok(M::decode(bytes).map_err(malformed)?),
        Ok((Ok(_), bytes)) => refuse(no_memory(), bytes),
        Ok((Err(fault @ WireFault::Malformed), _)) => return Err(malformed(fault)),
        Ok((Err(fault), bytes)) => refuse(ServiceError::new(ErrorKind::TooLarge, fault), bytes),
        Err(error) => refuse(error, Bytes::new()),
    };
    Ok(ReceivedMessage { read, held })
}

/// Returns the gRPC status for malformed messages.
fn malformed(why: impl std::fmt::Display) -> Status {
    Status::internal(why.to_string())
}
