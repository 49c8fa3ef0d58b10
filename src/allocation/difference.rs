//! The difference of two matrices: workers kept, started, stopped, changed.

use crate::ensemble::BatchSize;
use serde::{Deserialize, Serialize};

use super::matrix::{Cell, Matrix};

/// What happens at one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerChange {
    Keep(BatchSize),
    Start(BatchSize),
    Stop(BatchSize),
    /// Another batch size: a new worker replaces the old one.
    Resize {
        from: BatchSize,
        to: BatchSize,
    },
}

impl WorkerChange {
    /// The batch size of the worker that must be made.
    pub fn starts(self) -> Option<BatchSize> {
        match self {
            WorkerChange::Start(size) | WorkerChange::Resize { to: size, .. } => Some(size),
            WorkerChange::Keep(_) | WorkerChange::Stop(_) => None,
        }
    }

    /// The batch size of the worker that must go.
    pub fn stops(self) -> Option<BatchSize> {
        match self {
            WorkerChange::Stop(size) | WorkerChange::Resize { from: size, .. } => Some(size),
            WorkerChange::Keep(_) | WorkerChange::Start(_) => None,
        }
    }
}

/// A change with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryChange {
    pub cell: Cell,
    pub change: WorkerChange,
}

/// All that differs between two matrices of one frame, and what is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    pub entries: Vec<EntryChange>,
}

impl Difference {
    /// From `old` to `new`; entries empty in both are left out.
    pub fn between(old: &Matrix, new: &Matrix) -> Self {
        let entries = old
            .cells()
            .filter_map(|cell| {
                let change = match (old.get(cell), new.get(cell)) {
                    (None, None) => return None,
                    (Some(a), Some(b)) if a == b => WorkerChange::Keep(a),
                    (Some(from), Some(to)) => WorkerChange::Resize { from, to },
                    (None, Some(size)) => WorkerChange::Start(size),
                    (Some(size), None) => WorkerChange::Stop(size),
                };
                Some(EntryChange { cell, change })
            })
            .collect();
        Difference { entries }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.changed().next().is_none()
    }

    /// The entries that do change.
    pub fn changed(&self) -> impl Iterator<Item = &EntryChange> {
        self.entries
            .iter()
            .filter(|e| !matches!(e.change, WorkerChange::Keep(_)))
    }
}
