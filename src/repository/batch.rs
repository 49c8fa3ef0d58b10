//! The first dimension of a model's tensors: rows of a request, or part of what one row holds.

use std::fmt;

use serde::Serialize;

/// The rows of a request, as its tensors' first dimension says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelRows {
    /// Tensors have none: a request is one row.
    Absent,
    /// It is always so many.
    Exactly(usize),
    /// It is any number: they run in batches of so many at most.
    UpTo(usize),
    /// It is any number.
    Open,
}

impl ModelRows {
    /// Whether a batch may have so many rows.
    pub fn takes(self, rows: usize) -> bool {
        match self {
            ModelRows::Absent => rows == 1,
            ModelRows::Exactly(size) => rows == size,
            ModelRows::UpTo(most) => (1..=most).contains(&rows),
            ModelRows::Open => rows >= 1,
        }
    }

    /// Returns the most rows of a batch, or `None` if the model sets no bound.
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
