//! Messages on a stream: a length, then so many bytes.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::session::wire::{WireError, decode, encode};

/// Bytes of a message to the server, at most.
pub(super) const REQUEST: usize = 4 << 20;
/// Bytes of a message to a console, at most.
pub(super) const NEWS: usize = 64 << 20;

/// A message with its length before it.
///
/// # Errors
/// It cannot be written down.
pub(super) fn frame(message: &impl Serialize) -> Result<Vec<u8>, WireError> {
    let body = encode(message)?;
    let length = u32::try_from(body.len());
    let length = length.map_err(|_| WireError::Unwritable("too long".into()))?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// Writes a message.
///
/// # Errors
/// The stream fails.
pub(super) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = frame(message).map_err(io::Error::other)?;
    to.write_all(&bytes)
}

/// Reads a message of at most `most` bytes.
///
/// # Errors
/// The stream ends or fails, or says something else.
pub(super) fn receive<T: DeserializeOwned>(from: &mut impl Read, most: usize) -> io::Result<T> {
    decode(&receive_bytes(from, most)?).map_err(io::Error::other)
}

/// Reads the bytes of a message, at most `most`.
///
/// # Errors
/// The stream ends or fails, or announces more.
pub(super) fn receive_bytes(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let found = u32::from_le_bytes(length) as usize;
    if found > most {
        return Err(io::Error::other(WireError::TooLong { found, most }));
    }
    let mut bytes = Vec::new();
    // Grows with what comes, not with what was announced.
    let read = from.by_ref().take(found as u64).read_to_end(&mut bytes)?;
    if read < found {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
