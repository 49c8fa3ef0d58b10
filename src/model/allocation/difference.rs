//! The difference between two matrices: the entries whose worker starts, stops or is replaced.

use serde::{Deserialize, Serialize};

use crate::ensemble::BatchSize;

use super::matrix::{Cell, Matrix};

/// The change of the worker at one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerChange {
    /// The worker stays.
    Keep(BatchSize),
    /// A worker is built.
    Start(BatchSize),
    /// The worker is removed.
    Stop(BatchSize),
    /// A worker with another batch size replaces it.
    Resize {
        /// Its batch size.
        from: BatchSize,
        /// The batch size of the new worker.
        to: BatchSize,
    },
    /// A worker with the same batch size replaces it, because its member's precision changes.
    Rebuild(BatchSize),
}

impl WorkerChange {
    /// Returns the batch size of the worker to build, if there is one.
    pub fn starts(self) -> Option<BatchSize> {
        match self {
            WorkerChange::Start(size)
            | WorkerChange::Resize { to: size, .. }
            | WorkerChange::Rebuild(size) => Some(size),
            WorkerChange::Keep(_) | WorkerChange::Stop(_) => None,
        }
    }

    /// Returns the batch size of the worker to remove, if there is one.
    pub fn stops(self) -> Option<BatchSize> {
        match self {
            WorkerChange::Stop(size)
            | WorkerChange::Resize { from: size, .. }
            | WorkerChange::Rebuild(size) => Some(size),
            WorkerChange::Keep(_) | WorkerChange::Start(_) => None,
        }
    }
}

/// The change at one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryChange {
    /// The entry.
    pub cell: Cell,
    /// The change of its worker.
    pub change: WorkerChange,
}

/// The difference of two matrices of one frame, with the workers that are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The entries that have a worker in either matrix, device by device.
    pub entries: Vec<EntryChange>,
}

impl Difference {
    /// Returns the difference from `old` to `new`.
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

    /// Returns the difference with kept workers replaced in the cells for which `is_rebuilt`
    /// returns true.
    #[must_use]
    pub fn rebuilding(mut self, is_rebuilt: impl Fn(Cell) -> bool) -> Self {
        for entry in &mut self.entries {
            if let WorkerChange::Keep(size) = entry.change
                && is_rebuilt(entry.cell)
            {
                entry.change = WorkerChange::Rebuild(size);
            }
        }
        self
    }

    /// Returns whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.changed().next().is_none()
    }

    /// Iterates over the entries that change.
    pub fn changed(&self) -> impl Iterator<Item = &EntryChange> {
        self.entries
            .iter()
            .filter(|e| !matches!(e.change, WorkerChange::Keep(_)))
    }
}
