//! The first dimension of a model's tensors: rows of a request, or part of what one row holds.

use std::fmt;

use serde::Serialize;

/// The rows of a request, as its tensors' first dimension says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchDimension {
    /// Tensors have none: a request is one row.
    Absent,
    /// It is always so many.
    Exactly(usize),
    /// It is one of so many at most.
    UpTo(usize),
    /// It is any number.
    Open,
}

impl BatchDimension {
    /// Whether a request may have so many rows.
    pub fn takes(self, rows: usize) -> bool {
        match self {
            BatchDimension::Absent => rows == 1,
            BatchDimension::Exactly(size) => rows == size,
            BatchDimension::UpTo(most) => (1..=most).contains(&rows),
            BatchDimension::Open => rows >= 1,
        }
    }

    /// Returns the most rows of a request, or `None` if the model sets no bound.
    pub fn most(self) -> Option<usize> {
        match self {
            BatchDimension::Absent => Some(1),
            BatchDimension::Exactly(size) | BatchDimension::UpTo(size) => Some(size),
            BatchDimension::Open => None,
        }
    }
}

/// `batch up to 8`.
impl fmt::Display for BatchDimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BatchDimension::Absent => f.write_str("no batch"),
            BatchDimension::Exactly(size) => write!(f, "batch of {size}"),
            BatchDimension::UpTo(most) => write!(f, "batch up to {most}"),
            BatchDimension::Open => f.write_str("batch of any size"),
        }
    }
}
