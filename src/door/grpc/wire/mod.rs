//! Computes the memory of a decoded message from its wire format before decoding it.
//!
//! Two bytes of a message can become hundreds of bytes of memory, and a decoder allocates them
//! before the message can be checked. So the tags and lengths of a message are walked first,
//! without allocating. A message with too many tensors, or one that would take more memory than
//! allowed for all bodies, is refused. The walk accepts every message that the decoder accepts.

mod fields;
mod reader;

use thiserror::Error;

use crate::limits::ServerLimits;

pub use fields::{BoundedMessage, FieldValues, WireField};

use reader::{WireReader, WireValue};

/// The largest number of fields of a message.
const MOST_FIELDS: usize = 8;

/// The reasons why a message is not decoded.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum WireFault {
    /// The message is malformed.
    #[error("expected a Protocol Buffers message, found invalid bytes")]
    Malformed,
    /// A list has too many entries.
    #[error("{name}: expected at most {most}")]
    TooMany {
        /// The list.
        name: &'static str,
        /// The maximum number of entries.
        most: usize,
    },
    /// The message would take more memory than allowed for all bodies.
    #[error("expected a message that takes at most {most} bytes of memory")]
    TooLarge {
        /// The maximum in bytes.
        most: usize,
    },
}

/// Returns the memory of a decoded message in addition to its own bytes. Lists grow by doubling, so
/// they can temporarily take twice their size.
///
/// # Errors
/// Returns an error if the message is malformed or exceeds a bound.
pub fn decoded_size<M: BoundedMessage>(
    message: &[u8],
    limits: &ServerLimits,
) -> Result<usize, WireFault> {
    let mut walk = SizeWalk { limits, size: 0 };
    walk.message(message, M::FIELDS)?;
    Ok(walk.size)
}

/// A walk through a message and its nested messages.
struct SizeWalk<'l> {
    limits: &'l ServerLimits,
    size: usize,
}

impl SizeWalk<'_> {
    fn message(&mut self, bytes: &[u8], fields: &'static [WireField]) -> Result<(), WireFault> {
        let mut counts = [0; MOST_FIELDS];
        let mut reader = WireReader::new(bytes);
        while !reader.is_empty() {
            let (number, value) = reader.field().ok_or(WireFault::Malformed)?;
            let mut known = fields.iter().zip(&mut counts);
            let Some((field, count)) = known.find(|(field, _)| field.number == number) else {
                continue;
            };
            self.field(field, count, value)?;
        }
        Ok(())
    }

    /// Adds a field of a message that already has `count` of its entries.
    fn field(
        &mut self,
        field: &'static WireField,
        count: &mut usize,
        value: WireValue<'_>,
    ) -> Result<(), WireFault> {
        let more = field.kind.entries(value);
        *count += more;
        field.check(*count, self.limits)?;
        self.add(field.kind.size(more, value))?;
        match (&field.kind, value) {
            (FieldValues::Message(_, inner), WireValue::Bytes(bytes)) => self.message(bytes, inner),
            _ => Ok(()),
        }
    }

    fn add(&mut self, more: usize) -> Result<(), WireFault> {
        self.size = self.size.saturating_add(more);
        let most = self.limits.bodies;
        match self.size <= most {
            true => Ok(()),
            false => Err(WireFault::TooLarge { most }),
        }
    }
}
