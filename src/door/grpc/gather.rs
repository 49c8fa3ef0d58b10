//! Gathers the messages of a call from received pieces, and passes them on when they are complete.
//!
//! Memory is allocated and counted for received bytes only. A message that exceeds its bound, or
//! has no memory left, is refused by its first five bytes.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use tonic::Status;

use crate::limits::{Allowance, AllowanceShare, no_memory};
use divisi_inference::error::ServiceError;
use divisi_inference::protocol::GrowingBytes;

/// The bytes before a message: whether it is compressed, and its length.
pub(super) const PREFIX: usize = 5;

/// The first allocation for a message in bytes.
const FIRST: usize = 4 << 10;

/// A received message.
pub(super) struct GatheredMessage {
    /// The compression byte.
    pub flag: u8,
    /// The message, or the reason for its refusal.
    pub bytes: Result<Bytes, ServiceError>,
    /// Its share of the memory of bodies.
    pub held: AllowanceShare,
}

/// The bounds of messages.
pub(super) struct MessageBounds {
    /// The memory of bodies, shared by all calls.
    pub bodies: Arc<Allowance>,
    /// The maximum size of a message in bytes.
    pub most: usize,
}

/// Gathers messages.
pub(super) struct MessageGatherer {
    bounds: MessageBounds,
    state: GatherState,
}

enum GatherState {
    Prefix {
        bytes: [u8; PREFIX],
        count: usize,
    },
    Message(PartialMessage),
    /// The rest of a refused message.
    Refused {
        left: usize,
    },
}

struct PartialMessage {
    flag: u8,
    claimed: usize,
    bytes: GrowingBytes,
    held: AllowanceShare,
}

impl GatherState {
    const BEGIN: GatherState = GatherState::Prefix {
        bytes: [0; PREFIX],
        count: 0,
    };
}

impl MessageGatherer {
    pub(super) fn new(bounds: MessageBounds) -> Self {
        let state = GatherState::BEGIN;
        MessageGatherer { bounds, state }
    }

    /// Returns the bounds of messages.
    pub(super) fn bounds(&self) -> &MessageBounds {
        &self.bounds
    }

    /// Returns whether a message is incomplete.
    pub(super) fn is_within(&self) -> bool {
        !matches!(self.state, GatherState::Prefix { count: 0, .. })
    }

    /// Takes bytes off a piece until a message is complete or refused, and returns it, or until the
    /// piece is empty.
    ///
    /// # Errors
    /// Returns an error if the message exceeds its bound.
    pub(super) fn take(&mut self, piece: &mut Bytes) -> Result<Option<GatheredMessage>, Status> {
        while !piece.is_empty() {
            if let Some(message) = self.step(piece)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    fn step(&mut self, piece: &mut Bytes) -> Result<Option<GatheredMessage>, Status> {
        match &mut self.state {
            GatherState::Prefix { bytes, count } => {
                let more = piece.len().min(PREFIX - *count);
                piece.copy_to_slice(&mut bytes[*count..*count + more]);
                *count += more;
                let [flag, length @ ..] = *bytes;
                match *count == PREFIX {
                    true => self.begin(flag, u32::from_be_bytes(length)),
                    false => Ok(None),
                }
            }
            GatherState::Message(message) => {
                let gathered = message.append(piece);
                Ok(gathered.and_then(|gathered| self.end(gathered)))
            }
            GatherState::Refused { left } => {
                let skipped = piece.len().min(*left);
                piece.advance(skipped);
                *left -= skipped;
                if *left == 0 {
                    self.state = GatherState::BEGIN;
                }
                Ok(None)
            }
        }
    }

    /// Starts a message, which may be empty.
    fn begin(&mut self, flag: u8, claimed: u32) -> Result<Option<GatheredMessage>, Status> {
        let (claimed, most) = (claimed as usize, self.bounds.most);
        if claimed > most {
            return Err(Status::out_of_range(format!(
                "expected a message of at most {most} bytes, found one of {claimed}"
            )));
        }
        let message = PartialMessage {
            flag,
            claimed,
            bytes: GrowingBytes::default(),
            held: self.bounds.bodies.share(),
        };
        let fits = message.held.fits(claimed);
        self.state = GatherState::Message(message);
        Ok(match (fits, claimed) {
            (false, _) => self.end(Err(no_memory())),
            (true, 0) => self.end(Ok(())),
            (true, _) => None,
        })
    }

    /// Ends the message as complete or refused.
    fn end(&mut self, gathered: Result<(), ServiceError>) -> Option<GatheredMessage> {
        let state = std::mem::replace(&mut self.state, GatherState::BEGIN);
        let GatherState::Message(message) = state else {
            return None;
        };
        let left = message.claimed - message.bytes.len();
        if left > 0 {
            self.state = GatherState::Refused { left };
        }
        Some(GatheredMessage {
            flag: message.flag,
            bytes: gathered.map(|()| message.bytes.freeze()),
            held: message.held,
        })
    }
}

impl PartialMessage {
    /// Appends the bytes of a piece to the message. Returns the result once it is complete or there
    /// is no memory for it.
    fn append(&mut self, piece: &mut Bytes) -> Option<Result<(), ServiceError>> {
        let more = piece.len().min(self.claimed - self.bytes.len());
        if !self.grow(self.bytes.len() + more) {
            return Some(Err(no_memory()));
        }
        self.bytes.extend_from_slice(&piece.split_to(more));
        (self.bytes.len() == self.claimed).then_some(Ok(()))
    }

    /// Allocates memory for `has` bytes. It grows with the received bytes, not with the claimed
    /// length.
    fn grow(&mut self, has: usize) -> bool {
        if has <= self.bytes.capacity() {
            return true;
        }
        let room = has.saturating_mul(4).max(FIRST).min(self.claimed);
        let fits = self.held.resize(room);
        if fits {
            self.bytes.reserve(room - self.bytes.len());
        }
        fits
    }
}
