//! Protocol Buffers' text format, and their JSON: a text becomes messages whose fields have the names and kinds
//! that the published interface file says.

mod json;
mod parser;
mod schema;
mod token;

use thiserror::Error;

pub(crate) use schema::MessageType;

/// A message as it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TextMessage {
    /// The line on which it begins.
    pub(crate) line: usize,
    /// Its fields in order; those that are lists once for each value.
    pub(crate) fields: Vec<Field>,
}

/// A field with a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// Its name.
    pub(crate) name: &'static str,
    /// The line that it stands on.
    pub(crate) line: usize,
    /// Its value.
    pub(crate) value: FieldValue,
}

/// The value of a field, of the kind that the interface file says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldValue {
    Flag(bool),
    Whole(i128),
    Number(f64),
    Text(String),
    /// The name of one of several.
    Choice(&'static str),
    Message(TextMessage),
}

/// The most characters of a text of a file that errors quote.
const SHOWN: usize = 80;

/// Returns a text of a file as errors quote it: its start, without control characters.
pub(crate) fn shown(text: &str) -> String {
    text.escape_debug().take(SHOWN).collect()
}

/// A text is none of the messages that it should be.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{line}: {message}")]
pub(crate) struct TextFault {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The field, and the value that was expected.
    pub(crate) message: String,
}

impl TextMessage {
    /// Reads a text as a message of a type.
    ///
    /// # Errors
    /// The text is damaged, or has a field of another name, kind or number than the type.
    pub(crate) fn parse(text: &str, kind: &'static MessageType) -> Result<Self, TextFault> {
        parser::parse(text, kind)
    }

    /// Reads JSON as a message of a type.
    ///
    /// # Errors
    /// It is no JSON, or has a field of another name, kind or number than the type.
    pub(crate) fn parse_json(text: &str, kind: &'static MessageType) -> Result<Self, TextFault> {
        json::parse(text, kind)
    }
}
