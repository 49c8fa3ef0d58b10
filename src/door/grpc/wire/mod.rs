//! The memory that a message takes once it is decoded, told from its wire format before it is.
//!
//! Two bytes of a message can become hundreds of bytes of memory, and a decoder takes these before
//! anybody can look at what it decodes. So the tags and lengths of a message are walked first:
//! nothing is allocated, and a message with more tensors than there may be, or one that would take
//! more memory than all bodies may, is refused. Whatever the decoder takes is taken here as well;
//! what is refused as malformed it would refuse, too.

mod fields;
mod reader;

use thiserror::Error;

use crate::limits::ServerLimits;

pub use fields::{BoundedMessage, FieldValues, WireField};

use reader::{WireReader, WireValue};

/// The fields of a message that has the most.
const MOST_FIELDS: usize = 8;

/// Why a message is not decoded.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum WireFault {
    /// It is none.
    #[error("expected a Protocol Buffers message, found invalid bytes")]
    Malformed,
    /// A list has more entries than there may be.
    #[error("{name}: expected at most {most}")]
    TooMany {
        /// The list.
        name: &'static str,
        /// The entries that there may be.
        most: usize,
    },
    /// It would take more memory than all bodies together may.
    #[error("expected a message that takes at most {most} bytes of memory")]
    TooLarge {
        /// The bytes that there may be.
        most: usize,
    },
}

/// Returns the bytes of memory that a message takes beside its own bytes once it is decoded. Lists
/// grow by doubling, so that they can take twice as many for a while.
///
/// # Errors
/// It is malformed, or beyond a bound.
pub fn decoded_size<M: BoundedMessage>(
    message: &[u8],
    limits: &ServerLimits,
) -> Result<usize, WireFault> {
    let mut walk = SizeWalk { limits, size: 0 };
    walk.message(message, M::FIELDS)?;
    Ok(walk.size)
}

/// A walk through a message and those within it.
struct SizeWalk<'l> {
    limits: &'l ServerLimits,
    size: usize,
}

impl SizeWalk<'_> {
    fn message(&mut self, bytes: &[u8], fields: &'static [WireField]) -> Result<(), WireFault> {
        let mut counts = [0; MOST_FIELDS];
        let mut reader = WireReader::of(bytes);
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

    /// Adds a field of a message that has `count` entries of it so far.
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
