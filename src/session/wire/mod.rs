//! The state that a session shows, as bytes: for a socket and for a file.
//!
//! Snapshots travel as differences by section ([`Delta`]), spans in batches that count
//! from each other ([`SpanBatch`]). Whatever bytes come, decoding returns a whole value or
//! an error. It never panics and never takes more memory than a small multiple of the
//! bytes it reads.
//!
//! A field of the snapshot that is in no section does not compile. A hello of ten bytes says what
//! follows and in which version. Decoding checks that the parts of a snapshot fit together, since
//! whoever draws it looks entries up by their place; lists are counted (`budget`) before they are
//! made.

mod budget;
mod counted;
mod delta;
mod spans;

pub(crate) use delta::checked;
pub use delta::{Delta, Differ};
pub use spans::SpanBatch;

pub(crate) use budget::{allowance, take_within};

use std::cmp::Ordering;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Bytes that say nothing, or not what they should.
#[derive(Debug, Error)]
pub enum WireError {
    /// The bytes are of another format.
    #[error("not {0}: it begins otherwise")]
    Foreign(&'static str),
    /// The version is newer than this one.
    #[error(
        "{what} by a newer Divisi: it has version {found}, and version {expected} is read here"
    )]
    Newer {
        /// The kind of format.
        what: &'static str,
        /// The value found.
        found: u16,
        /// The version that is read.
        expected: u16,
    },
    /// The version is older than this one.
    #[error(
        "{what} by an older Divisi: it has version {found}, and version {expected} is read here"
    )]
    Older {
        /// The kind of format.
        what: &'static str,
        /// The value found.
        found: u16,
        /// The version that is read.
        expected: u16,
    },
    /// There are too few bytes.
    #[error("expected {what}, found {found} bytes")]
    Short {
        /// The kind of format.
        what: &'static str,
        /// The value found.
        found: u64,
    },
    /// It cannot be read at all.
    #[error("{0}")]
    Unreadable(String),
    /// The bytes are not those of a valid value; says why.
    #[error("damaged: {0}")]
    Damaged(String),
    /// The message is too long.
    #[error("{found} bytes at once, expected at most {most}")]
    TooLong {
        /// The value found.
        found: usize,
        /// The most that is allowed, in bytes.
        most: usize,
    },
    /// The value would take too much memory.
    #[error("damaged: what is announced would take more than {most} bytes")]
    TooLarge {
        /// The most that is allowed, in bytes.
        most: usize,
    },
    /// The value cannot be encoded; says why.
    #[error("cannot be written down: {0}")]
    Unwritable(String),
}

/// A value as bytes.
///
/// # Errors
/// A path that is no text.
pub fn encode(value: &impl Serialize) -> Result<Vec<u8>, WireError> {
    postcard::to_allocvec(value).map_err(|e| WireError::Unwritable(e.to_string()))
}

/// The value that `bytes` begin with, and the bytes behind it.
///
/// # Errors
/// They begin with no such value.
pub(crate) fn decode_first<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), WireError> {
    take_within(bytes, allowance(bytes.len()))
}

/// The value that `bytes` are, all of them.
///
/// # Errors
/// They are no such value.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, WireError> {
    let (value, rest) = decode_first(bytes)?;
    match rest.is_empty() {
        true => Ok(value),
        false => Err(WireError::Damaged(format!("{} bytes more", rest.len()))),
    }
}

/// The format of the bytes after the hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A file with a recorded session.
    Recording,
    /// A connection of a console with a server.
    Connection,
}

impl Format {
    /// Returns the version of everything behind the hello.
    pub fn version(self) -> u16 {
        match self {
            // Whether jobs are over is told since 15.
            Format::Recording => 15,
            // Likewise since 16.
            Format::Connection => 16,
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
            Format::Recording => "a recording of Divisi",
            Format::Connection => "a console or server of Divisi",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Format::Recording => "recorded",
            Format::Connection => "spoken",
        }
    }
}

/// How many bytes begin it.
pub const HELLO: usize = 10;

/// The bytes that begin it.
pub fn hello(format: Format) -> [u8; HELLO] {
    let mut bytes = [0; HELLO];
    bytes[..8].copy_from_slice(format.magic());
    bytes[8..].copy_from_slice(&format.version().to_le_bytes());
    bytes
}

/// Checks the bytes that begin it.
///
/// # Errors
/// It is something else, or of another version.
pub fn read_hello(bytes: &[u8; HELLO], format: Format) -> Result<(), WireError> {
    if &bytes[..8] != format.magic() {
        return Err(WireError::Foreign(format.name()));
    }
    let found = u16::from_le_bytes([bytes[8], bytes[9]]);
    let (what, expected) = (format.verb(), format.version());
    match found.cmp(&expected) {
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(WireError::Newer {
            what,
            found,
            expected,
        }),
        Ordering::Less => Err(WireError::Older {
            what,
            found,
            expected,
        }),
    }
}
