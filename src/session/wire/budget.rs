//! Decoding that counts what it makes before it makes it.
//!
//! A list of empty texts takes a byte for each in a message and 24 in memory. So every
//! element of a list is charged, by its size in memory, to a budget that grows with the
//! bytes that came; what would take more is refused when it is reached.

use std::cell::Cell;

use serde::de::{DeserializeOwned, Error};

use super::WireError;
use super::counted::Counted;

/// Bytes of memory for each byte that came: twice what any honest list takes.
const EACH: usize = 24;
/// And so many for the smallest message.
const BASE: usize = 64 << 10;

/// Bytes of memory that lists may take which are read from so many bytes.
pub fn allowance(bytes: usize) -> usize {
    bytes.saturating_mul(EACH).saturating_add(BASE)
}

/// The value that `bytes` begin with, whose lists take at most `most` bytes of memory, and
/// the bytes behind it.
///
/// # Errors
/// They begin with no such value, or it would take more.
pub fn take_within<T: DeserializeOwned>(
    bytes: &[u8],
    most: usize,
) -> Result<(T, &[u8]), WireError> {
    let left = Cell::new(Some(most));
    let mut source = postcard::Deserializer::from_bytes(bytes);
    let read = T::deserialize(Counted::new(&mut source, &left));
    let value = match read {
        Ok(value) => value,
        Err(_) if left.get().is_none() => return Err(WireError::TooLarge { most }),
        Err(e) => return Err(WireError::Damaged(e.to_string())),
    };
    let rest = source.finalize();
    let rest = rest.map_err(|e| WireError::Damaged(e.to_string()))?;
    Ok((value, rest))
}

/// Bytes that are left; none once more was asked for.
pub(super) type Left = Cell<Option<usize>>;

pub(super) fn charge<E: Error>(left: &Left, bytes: usize) -> Result<(), E> {
    left.set(left.get().and_then(|left| left.checked_sub(bytes)));
    match left.get() {
        Some(_) => Ok(()),
        None => Err(E::custom("too large")),
    }
}
