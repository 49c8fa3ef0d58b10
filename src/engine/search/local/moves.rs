//! Steps from one matrix to another: one entry, as in the paper, or a worker with
//! another one that makes room for it.
//!
//! In the linear program no worker that goes helps, and one that comes helps only where it
//! gains at present prices: on devices that are not shared, most additions need not be
//! solved.

use divisi_model::allocation::Cell;
use divisi_runtime::device::DeviceIndex;

use super::position::{EntryEdit, Position};

/// Entries changed in one step: one to four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    edits: [EntryEdit; 4],
    len: usize,
}

impl Move {
    /// A step of these entries, four at most.
    pub(crate) fn of(edits: &[EntryEdit]) -> Self {
        let len = edits.len().min(4);
        let mut step = Move {
            edits: [edits[0]; 4],
            len,
        };
        step.edits[..len].copy_from_slice(&edits[..len]);
        step
    }

    /// Returns the entries that change.
    pub(crate) fn edits(&self) -> &[EntryEdit] {
        &self.edits[..self.len]
    }
}

/// Entries that could help by themselves: more workers, other batch sizes, and slow
/// workers gone.
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

/// A promising entry with what makes room for it: a worker of the same member moves
/// there from another device; a worker in the same memory goes, takes a smaller batch or
/// moves to another device; two workers of different members swap their devices.
pub(crate) fn pairs(position: &Position<'_>, edit: EntryEdit) -> Vec<Move> {
    let mut found = Vec::new();
    let workers = position.cells().filter(|cell| *cell != edit.cell);
    for cell in workers {
        let Some(size) = position.get(cell) else {
            continue;
        };
        let nearby = position.budget().shared(cell.device, edit.cell.device);
        if nearby || cell.member == edit.cell.member {
            found.push(Move::of(&[edit, remove(cell)]));
        }
        if nearby {
            found.extend((0..size).map(|to| Move::of(&[edit, put(cell, to)])));
            found.extend(displacements(position, edit, cell, size));
        }
        if cell.member == edit.cell.member {
            found.extend(swaps(position, edit, cell));
        }
    }
    found
}

/// The worker at `there`, which is in the way, goes to another device.
fn displacements(
    position: &Position<'_>,
    edit: EntryEdit,
    there: Cell,
    size: usize,
) -> impl Iterator<Item = Move> {
    let devices = DeviceIndex::all(position.rates().devices());
    let others = devices.map(move |device| Cell { device, ..there });
    let free = others.filter(move |to| *to != edit.cell && position.get(*to).is_none());
    free.map(move |to| Move::of(&[edit, remove(there), put(to, size)]))
}

/// The worker at `from` goes to `edit`, another one there goes where it was.
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
        free.then(|| Move::of(&[edit, remove(from), put(back, size), remove(other)]))
    })
}

fn put(cell: Cell, size: usize) -> EntryEdit {
    EntryEdit {
        cell,
        to: Some(size),
    }
}

/// No worker at `cell` any more.
pub(crate) fn remove(cell: Cell) -> EntryEdit {
    EntryEdit { cell, to: None }
}
