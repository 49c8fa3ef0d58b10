//! Reads the text format and the JSON form of Protocol Buffers. The published interface file
//! defines the names and kinds of the fields.

mod json;
mod parser;
mod schema;
mod token;

use thiserror::Error;

pub(crate) use schema::MessageType;

/// A message as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TextMessage {
    /// The line on which it begins.
    pub(crate) line: usize,
    /// Its fields in order; a list has one field for each value.
    pub(crate) fields: Vec<Field>,
}

/// A field with a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// Its name.
    pub(crate) name: &'static str,
    /// The line of the field.
    pub(crate) line: usize,
    /// Its value.
    pub(crate) value: FieldValue,
}

/// The value of a field, of the kind defined by the interface file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldValue {
    Flag(bool),
    Whole(i128),
    Number(f64),
    Text(String),
    /// The name of one of several choices.
    Choice(&'static str),
    Message(TextMessage),
}

/// The maximum number of characters that errors quote from a file.
const SHOWN: usize = 80;

/// Returns a text for quoting in errors: its start, without control characters.
pub(crate) fn quoted(text: &str) -> String {
    text.escape_debug().take(SHOWN).collect()
}

/// A text that is not a message of the expected type.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{line}: {message}")]
pub(crate) struct TextFault {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The field and the expected value.
    pub(crate) message: String,
}

impl TextMessage {
    /// Reads a text as a message of a type.
    ///
    /// # Errors
    /// The text is malformed, or a field has an unknown name, a wrong kind or too many values.
    pub(crate) fn parse(text: &str, kind: &'static MessageType) -> Result<Self, TextFault> {
        parser::parse(text, kind)
    }

    /// Reads JSON as a message of a type.
    ///
    /// # Errors
    /// The text is not valid JSON, or a field has an unknown name, a wrong kind or too many values.
    pub(crate) fn parse_json(text: &str, kind: &'static MessageType) -> Result<Self, TextFault> {
        json::parse(text, kind)
    }
}
