//! Decoding with a memory budget.
//!
//! An empty text takes a byte in a message and 24 bytes in memory. So the size in memory of every
//! list element is charged to a budget proportional to the received bytes, and a value that would
//! exceed it is refused.

use std::cell::Cell;
use std::fmt::{self, Display};

use serde::de::{DeserializeOwned, Error, StdError};

use super::WireError;
use super::counted::Counted;

/// The bytes of memory for each received byte: twice the need of any real list.
const EACH: usize = 24;
/// The additional memory for the smallest message.
const BASE: usize = 64 << 10;

/// Returns the bytes of memory that the lists in a message of this size may take.
pub(crate) fn allowance(bytes: usize) -> usize {
    bytes.saturating_mul(EACH).saturating_add(BASE)
}

/// Decodes the value at the start of `bytes`, whose lists may take at most `most` bytes of memory.
/// Returns the value and the remaining bytes.
///
/// # Errors
/// Returns an error if the bytes are invalid or the value would exceed the memory.
pub(crate) fn take_within<T: DeserializeOwned>(
    bytes: &[u8],
    most: usize,
) -> Result<(T, &[u8]), WireError> {
    let budget = Budget::for_bytes(most);
    let mut source = postcard::Deserializer::from_bytes(bytes);
    let read = T::deserialize(Counted::new(&mut source, &budget));
    let value = match read {
        Ok(value) => value,
        Err(_) if budget.is_spent() => return Err(WireError::TooLarge { most }),
        Err(e) => return Err(WireError::Damaged(e.to_string())),
    };
    let rest = source.finalize();
    let rest = rest.map_err(|e| WireError::Damaged(e.to_string()))?;
    Ok((value, rest))
}

/// The memory left for a value that is being decoded, and the first error.
pub(super) struct Budget {
    /// The bytes left, or `None` once the budget was exceeded.
    left: Cell<Option<usize>>,
    /// The first error. It is kept here because the format's errors have no text.
    wrong: Cell<Option<FieldError>>,
}

impl Budget {
    fn for_bytes(bytes: usize) -> Self {
        Budget {
            left: Cell::new(Some(bytes)),
            wrong: Cell::new(None),
        }
    }

    fn is_spent(&self) -> bool {
        self.left.get().is_none()
    }

    /// Takes bytes from the budget.
    pub(super) fn charge(&self, bytes: usize) -> Result<(), FieldError> {
        let left = self.left.get().and_then(|left| left.checked_sub(bytes));
        self.left.set(left);
        match left {
            Some(_) => Ok(()),
            None => Err(FieldError::custom("too large")),
        }
    }

    /// Keeps an error with text and returns a placeholder in the format's type.
    pub(super) fn put_by<E: Error>(&self, wrong: FieldError) -> E {
        self.wrong.set(Some(wrong));
        E::custom("")
    }

    /// Returns the error kept by [`Budget::put_by`], or else `error` itself.
    pub(super) fn taken_up<E: Error>(&self, error: E) -> FieldError {
        self.wrong
            .take()
            .unwrap_or_else(|| FieldError::custom(error))
    }
}

/// The reason why a value cannot be decoded, and the field with the error. The format's own errors
/// have no text.
///
/// Boxed to keep the results of all decoded values small.
#[derive(Debug)]
pub(super) struct FieldError(Box<Words>);

#[derive(Debug)]
struct Words {
    /// The path of fields, outermost first.
    fields: Vec<&'static str>,
    why: String,
}

impl FieldError {
    /// Adds the enclosing field to the path.
    pub(super) fn within(mut self, field: &'static str) -> Self {
        self.0.fields.insert(0, field);
        self
    }
}

impl Error for FieldError {
    fn custom<T: Display>(why: T) -> Self {
        let (fields, why) = (Vec::new(), why.to_string());
        FieldError(Box::new(Words { fields, why }))
    }
}

impl StdError for FieldError {}

impl Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Words { fields, why } = &*self.0;
        match fields.as_slice() {
            [] => f.write_str(why),
            fields => write!(f, "{}: {}", fields.join("."), why),
        }
    }
}
