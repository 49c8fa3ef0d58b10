//! The first dimension of a model's tensors: the rows of a request, or a part of one row.

use std::fmt;

use serde::Serialize;

/// The number of rows of a request, from the first dimension of its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelRows {
    /// Tensors have no row dimension: a request is one row.
    Absent,
    /// Always this number of rows.
    Exactly(usize),
    /// Any number of rows, in batches of at most this size.
    UpTo(usize),
    /// Any number of rows.
    Open,
}

impl ModelRows {
    /// Returns whether a batch may have this number of rows.
    pub fn takes(self, rows: usize) -> bool {
        match self {
            ModelRows::Absent => rows == 1,
            ModelRows::Exactly(size) => rows == size,
            ModelRows::UpTo(most) => (1..=most).contains(&rows),
            ModelRows::Open => rows >= 1,
        }
    }

    /// Returns the maximum number of rows of a batch, or `None` if the model sets no bound.
    pub fn most(self) -> Option<usize> {
        match self {
            ModelRows::Absent => Some(1),
            ModelRows::Exactly(size) | ModelRows::UpTo(size) => Some(size),
            ModelRows::Open => None,
        }
    }
}

/// `batches up to 8`.
impl fmt::Display for ModelRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelRows::Absent => f.write_str("no batch"),
            ModelRows::Exactly(size) => write!(f, "batch of {size}"),
            ModelRows::UpTo(most) => write!(f, "batches up to {most}"),
            ModelRows::Open => f.write_str("batch of any size"),
        }
    }
}
