//! Steps from one matrix to another: a change of one entry, as in the paper, or of a worker and
//! another one that makes room for it.
//!
//! In the linear program, removing a worker never helps, and adding one helps only if it gains at
//! the present prices. On devices that are not shared, most additions therefore need no solution.

use divisi_model::allocation::Cell;
use divisi_runtime::device::DeviceIndex;

use super::position::{EntryEdit, Position};

/// The entries changed in one step: one to four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    edits: [EntryEdit; 4],
    len: usize,
}

impl Move {
    /// Creates a step of at most four entries.
    pub(crate) fn from_edits(edits: &[EntryEdit]) -> Self {
        let len = edits.len().min(4);
        let mut step = Move {
            edits: [edits[0]; 4],
            len,
        };
        step.edits[..len].copy_from_slice(&edits[..len]);
        step
    }

    /// Returns the changed entries.
    pub(crate) fn edits(&self) -> &[EntryEdit] {
        &self.edits[..self.len]
    }
}

/// Returns the changes that could help by themselves: additional workers, other batch sizes, and
/// the removal of slow workers.
pub(crate) fn promising(position: &Position<'_>) -> Vec<EntryEdit> {
    let mut found = Vec::new();
    for cell in position.cells() {
        if position.get(cell).is_some() {
            found.push(remove(cell));
        }
        for size in 0..position.rates().sizes().len() {
            let other = position.get(cell) != Some(size);
            if other && position.promises(cell, size) {
                found.push(put(cell, size));
            }
        }
    }
    found
}

/// Returns the steps that combine a promising change with one that makes room for it:
///
/// - A worker of the same member moves there from another device.
/// - A worker in the same memory is removed, takes a smaller batch or moves to another device.
/// - Two workers of different members swap their devices.
pub(crate) fn pairs(position: &Position<'_>, edit: EntryEdit) -> Vec<Move> {
    let mut found = Vec::new();
    let workers = position.cells().filter(|cell| *cell != edit.cell);
    for cell in workers {
        let Some(size) = position.get(cell) else {
            continue;
        };
        let nearby = position.budget().shared(cell.device, edit.cell.device);
        if nearby || cell.member == edit.cell.member {
            found.push(Move::from_edits(&[edit, remove(cell)]));
        }
        if nearby {
            found.extend((0..size).map(|to| Move::from_edits(&[edit, put(cell, to)])));
            found.extend(displacements(position, edit, cell, size));
        }
        if cell.member == edit.cell.member {
            found.extend(swaps(position, edit, cell));
        }
    }
    found
}

/// Returns the steps that move the worker at `there`, which takes up the room, to another device.
fn displacements(
    position: &Position<'_>,
    edit: EntryEdit,
    there: Cell,
    size: usize,
) -> impl Iterator<Item = Move> {
    let devices = DeviceIndex::all(position.rates().devices());
    let others = devices.map(move |device| Cell { device, ..there });
    let free = others.filter(move |to| *to != edit.cell && position.get(*to).is_none());
    free.map(move |to| Move::from_edits(&[edit, remove(there), put(to, size)]))
}

/// Returns the steps that move the worker at `from` to `edit`, and another worker of that device to
/// where `from` was.
fn swaps(position: &Position<'_>, edit: EntryEdit, from: Cell) -> impl Iterator<Item = Move> {
    let there = position.cells();
    let there = there.filter(move |c| c.device == edit.cell.device && *c != edit.cell);
    there.filter_map(move |other| {
        let back = Cell {
            device: from.device,
            ..other
        };
        let size = position.get(other)?;
        let free = position.get(back).is_none() && from.device != edit.cell.device;
        free.then(|| Move::from_edits(&[edit, remove(from), put(back, size), remove(other)]))
    })
}

fn put(cell: Cell, size: usize) -> EntryEdit {
    EntryEdit {
        cell,
        to: Some(size),
    }
}

/// Removes the worker at `cell`.
pub(crate) fn remove(cell: Cell) -> EntryEdit {
    EntryEdit { cell, to: None }
}
