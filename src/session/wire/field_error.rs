//! What is wrong with a value, in words: the format's own errors have none.

use std::fmt::{self, Display};

use serde::de::{Error, StdError};

/// Why a value cannot be read, and in which field of it that is.
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
