//! Decoding that counts what it makes before it makes it.
//!
//! A list of empty texts takes a byte for each in a message and 24 in memory. So every
//! element of a list is charged, by its size in memory, to a budget that grows with the
//! bytes that came; what would take more is refused when it is reached.

use std::cell::Cell;
use std::fmt::{self, Display};

use serde::de::{DeserializeOwned, Error, StdError};

use super::WireError;
use super::counted::Counted;

/// Bytes of memory for each byte that came: twice what any honest list takes.
const EACH: usize = 24;
/// And so many for the smallest message.
const BASE: usize = 64 << 10;

/// Bytes of memory that lists may take which are read from so many bytes.
pub(crate) fn allowance(bytes: usize) -> usize {
    bytes.saturating_mul(EACH).saturating_add(BASE)
}

/// The value that `bytes` begin with, whose lists take at most `most` bytes of memory, and
/// the bytes behind it.
///
/// # Errors
/// They begin with no such value, or it would take more.
pub(crate) fn take_within<T: DeserializeOwned>(
    bytes: &[u8],
    most: usize,
) -> Result<(T, &[u8]), WireError> {
    let budget = Budget::of(most);
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

/// The memory left for a value while it is read, and the error found in it.
pub(super) struct Budget {
    /// Bytes that are left; none once more was asked for.
    left: Cell<Option<usize>>,
    /// The error found. The format cannot carry its text, so it is kept here.
    wrong: Cell<Option<FieldError>>,
}

impl Budget {
    fn of(bytes: usize) -> Self {
        Budget {
            left: Cell::new(Some(bytes)),
            wrong: Cell::new(None),
        }
    }

    fn is_spent(&self) -> bool {
        self.left.get().is_none()
    }

    /// Takes so many bytes from it.
    pub(super) fn charge(&self, bytes: usize) -> Result<(), FieldError> {
        let left = self.left.get().and_then(|left| left.checked_sub(bytes));
        self.left.set(left);
        match left {
            Some(_) => Ok(()),
            None => Err(FieldError::custom("too large")),
        }
    }

    /// An error that the format passes on, for one with words, which are kept here.
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

/// Why a value cannot be read, and in which field of it that is, in words: the format's own errors
/// have none.
///
/// Boxed, since every value that is read comes in a result with it.
#[derive(Debug)]
pub(super) struct FieldError(Box<Words>);

#[derive(Debug)]
struct Words {
    /// From the outside in.
    fields: Vec<&'static str>,
    why: String,
}

impl FieldError {
    /// The same, of a value that has it in this field.
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
