//! The errors in JSON of samples and targets.

use thiserror::Error;

/// The reason why JSON holds no samples or labels.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum JsonError {
    /// It is not valid JSON, or has another structure.
    #[error("line {line}, column {column}: {reason}")]
    Place {
        /// The line, from 1.
        line: usize,
        /// The column, from 1, or 0 at the start of the line.
        column: usize,
        /// The reason as shown.
        reason: String,
    },
    /// A sample is wrong.
    #[error("row {row}: {error}")]
    Row {
        /// The sample, from 0.
        row: usize,
        /// The error in it.
        error: JsonRowError,
    },
    /// A field is unknown.
    #[error("expected the fields {expected}, found `{found}`")]
    Field {
        /// The valid fields.
        expected: &'static str,
        /// The unknown field.
        found: String,
    },
    /// A field appears twice, under one of its names.
    #[error("`{0}` appears twice")]
    RepeatedField(&'static str),
    /// There are no samples.
    #[error("expected the field `{0}`")]
    MissingField(&'static str),
}

/// The reason why a row of JSON is not a sample.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum JsonRowError {
    /// Its arrays have another shape.
    #[error("expected the shape {expected}, found {found:?}")]
    Shape {
        /// The valid shapes.
        expected: String,
        /// The shape of the row.
        found: Vec<u64>,
    },
    /// It has too many values.
    #[error("expected {0} values, found more")]
    Long(usize),
    /// Its arrays differ in length or depth.
    #[error("expected arrays of equal lengths and depths")]
    Ragged,
    /// A value is not a number.
    #[error("expected a number, found {0}")]
    NoNumber(String),
    /// A value is infinite as float32.
    #[error("expected numbers that float32 can hold, found {0}")]
    NotFinite(String),
}
