//! The state of a session as bytes, for sockets and files.
//!
//! Snapshots are sent complete and compressed, since a compressed snapshot is not larger than its
//! difference from the previous one; spans in batches with relative numbers ([`SpanBatch`]). For any
//! input, decoding returns a complete value or an error. It never panics and never takes more memory
//! than a small multiple of the input's size.
//!
//! A header of ten bytes has the format and its version. Decoding checks that the parts of a
//! snapshot are consistent, since drawing it looks up entries by position. The memory of lists is
//! charged to a budget (`decoder`) before they are allocated.

mod decoder;
mod spans;
mod states;

pub use spans::SpanBatch;
pub use states::checked;

pub(crate) use decoder::{packed_allowance, take_within};
pub(crate) use states::{checked_history, has_moved};

use std::cmp::Ordering;

use lz4_flex::block::{self, DecompressError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// The reasons why bytes are not a valid value.
#[derive(Debug, Error)]
pub enum WireError {
    /// The bytes are of another format.
    #[error("not {0}: the header is wrong")]
    Foreign(&'static str),
    /// The version is another one.
    #[error("{what} by {whose} Divisi: found version {found}, expected version {expected}")]
    Version {
        /// The kind of format.
        what: &'static str,
        /// Whether the other version is newer or older.
        whose: &'static str,
        /// The number found.
        found: u16,
        /// The supported version.
        expected: u16,
    },
    /// There are too few bytes.
    #[error("expected {what}, found {found} bytes")]
    Short {
        /// The kind of format.
        what: &'static str,
        /// The number found.
        found: u64,
    },
    /// The file or stream cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The bytes are invalid, with the reason.
    #[error("damaged: {0}")]
    Damaged(String),
    /// The message is too long.
    #[error("a message of {found} bytes, expected at most {most}")]
    TooLong {
        /// The number found.
        found: usize,
        /// The maximum in bytes.
        most: usize,
    },
    /// The value would take too much memory.
    #[error("damaged: decoding needs more than {most} bytes")]
    TooLarge {
        /// The maximum in bytes.
        most: usize,
    },
    /// The value cannot be encoded, with the reason.
    #[error("cannot be encoded: {0}")]
    Unwritable(String),
}

/// Returns the encoded value.
///
/// # Errors
/// Returns an error if a path is not valid text.
pub fn encode(value: &impl Serialize) -> Result<Vec<u8>, WireError> {
    postcard::to_allocvec(value).map_err(|e| WireError::Unwritable(e.to_string()))
}

/// Decodes the value at the start of `bytes`. Returns the value and the remaining bytes.
///
/// # Errors
/// Returns an error if the bytes are invalid.
pub(crate) fn decode_first<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), WireError> {
    take_within(bytes, usize::MAX)
}

/// Decodes a value from all of `bytes`.
///
/// # Errors
/// Returns an error if the bytes are invalid or too many.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, WireError> {
    whole(bytes, usize::MAX)
}

/// Decodes a value from all of `bytes` in at most `allowed` bytes of memory.
fn whole<T: DeserializeOwned>(bytes: &[u8], allowed: usize) -> Result<T, WireError> {
    let (value, rest) = take_within(bytes, allowed)?;
    match rest.is_empty() {
        true => Ok(value),
        false => Err(WireError::Damaged(format!("{} extra bytes", rest.len()))),
    }
}

/// Returns the encoded and compressed value, after its length before compression.
///
/// # Errors
/// Returns an error if a path is not valid text.
pub fn pack(value: &impl Serialize) -> Result<Vec<u8>, WireError> {
    Ok(block::compress_prepend_size(&encode(value)?))
}

/// Decodes a compressed value of at most `most` bytes before compression.
///
/// # Errors
/// Returns an error if the bytes are invalid or too many.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8], most: usize) -> Result<T, WireError> {
    let damaged = |e: DecompressError| WireError::Damaged(e.to_string());
    let (found, packed) = block::uncompressed_size(bytes).map_err(damaged)?;
    let allowed = packed_allowance(packed.len());
    let most = most.min(allowed);
    if found > most {
        return Err(WireError::TooLong { found, most });
    }
    let raw = block::decompress(packed, found).map_err(damaged)?;
    whole(&raw, allowed)
}

/// The formats with a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A file with a recorded session.
    Recording,
    /// A connection between a console and a server.
    Connection,
}

impl Format {
    /// Returns the version of the data after the header.
    pub fn version(self) -> u16 {
        match self {
            // Version 19 has figures over time.
            Format::Recording => 19,
            // Version 20 has figures over time.
            Format::Connection => 20,
        }
    }

    fn magic(self) -> &'static [u8; 8] {
        match self {
            Format::Recording => b"DIVISI\0R",
            Format::Connection => b"DIVISI\0C",
        }
    }

    /// Returns its name, in words.
    pub fn name(self) -> &'static str {
        match self {
            Format::Recording => "a Divisi recording",
            Format::Connection => "a Divisi console or server",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Format::Recording => "recorded",
            Format::Connection => "spoken",
        }
    }
}

/// The length of the header in bytes.
pub const HELLO: usize = 10;

/// Returns the header.
pub fn hello(format: Format) -> [u8; HELLO] {
    let mut bytes = [0; HELLO];
    bytes[..8].copy_from_slice(format.magic());
    bytes[8..].copy_from_slice(&format.version().to_le_bytes());
    bytes
}

/// Checks the header.
///
/// # Errors
/// Returns an error if the format or the version differs.
pub fn read_hello(bytes: &[u8; HELLO], format: Format) -> Result<(), WireError> {
    if &bytes[..8] != format.magic() {
        return Err(WireError::Foreign(format.name()));
    }
    let found = u16::from_le_bytes([bytes[8], bytes[9]]);
    let (what, expected) = (format.verb(), format.version());
    let whose = match found.cmp(&expected) {
        Ordering::Equal => return Ok(()),
        Ordering::Greater => "a newer",
        Ordering::Less => "an older",
    };
    Err(WireError::Version {
        what,
        whose,
        found,
        expected,
    })
}
