//! Matrices that show one thing each, whatever the ensemble and devices.

use std::sync::Arc;

use divisi::allocation::{Cell, InvalidMatrix, Matrix};
use divisi::ensemble::BatchSize;
use divisi::session::Snapshot;
use thiserror::Error;

use crate::commands::NotNow;

/// Why a step of a demonstration cannot be shown.
#[derive(Clone, Debug, PartialEq, Error)]
pub(super) enum DemoTrouble {
    /// There is no matrix to apply.
    #[error("the search has found nothing")]
    NothingFound,
    /// There is one device only.
    #[error("needs a second device: skip it")]
    OneDevice,
    /// The matrix would not be valid.
    #[error(transparent)]
    Matrix(#[from] InvalidMatrix),
    /// The command cannot be done.
    #[error(transparent)]
    NotNow(#[from] NotNow),
    /// A reload or a search failed; says why.
    #[error("{0}")]
    Failed(String),
}

/// Which matrix.
#[derive(Clone, Copy, Debug)]
pub(super) enum DemoPlan {
    /// Each member on a device of its own; where devices are too few, the dearest member
    /// on the first and all the others on the second.
    Alone,
    /// All members share so many of the devices, as evenly as can be; 0: all.
    Together(usize),
    /// As `Alone`, and devices that are left work for the dearest members as well; where
    /// none is left, every member on every device.
    Parallel,
    /// The best that the search has found.
    Best,
}

/// Batches in the middle of what is allowed.
const ROWS: usize = 16;

impl DemoPlan {
    /// The matrix, or why there is none.
    pub(super) fn matrix(self, shown: &Snapshot) -> Result<Matrix, DemoTrouble> {
        let devices = shown.matrix.frame().devices.len();
        let members = shown.matrix.frame().members.len();
        let owned = devices >= members;
        let entries = match self {
            DemoPlan::Best => {
                let best = shown.search.as_ref().and_then(|s| s.progress.best.clone());
                return best.ok_or(DemoTrouble::NothingFound);
            }
            DemoPlan::Alone if owned => own_devices(members),
            DemoPlan::Alone if devices < 2 => return Err(DemoTrouble::OneDevice),
            DemoPlan::Alone => apart(shown),
            DemoPlan::Together(0) => balanced(shown, devices),
            DemoPlan::Together(most) => balanced(shown, most.min(devices)),
            DemoPlan::Parallel if devices > members => helped(shown),
            DemoPlan::Parallel => everywhere(devices, members),
        };
        filled(shown, &entries)
    }
}

fn filled(shown: &Snapshot, cells: &[Cell]) -> Result<Matrix, DemoTrouble> {
    let frame = shown.matrix.frame();
    let members = frame.members.len();
    let mut entries: Vec<Option<BatchSize>> = vec![None; frame.devices.len() * members];
    let sizes = frame.batch_sizes.iter();
    let size = sizes.filter(|s| s.get() <= ROWS).last();
    let size = size.unwrap_or(frame.batch_sizes.smallest());
    for cell in cells {
        entries[cell.device * members + cell.member] = Some(size);
    }
    Ok(Matrix::new(Arc::clone(frame), entries)?)
}

fn own_devices(members: usize) -> Vec<Cell> {
    let own = |member| Cell {
        device: member,
        member,
    };
    (0..members).map(own).collect()
}

fn everywhere(devices: usize, members: usize) -> Vec<Cell> {
    let row = |device| (0..members).map(move |member| Cell { device, member });
    (0..devices).flat_map(row).collect()
}

/// The dearest member on the first device, the others on the second.
fn apart(shown: &Snapshot) -> Vec<Cell> {
    let dearest = dearest(shown);
    let place = |(at, member): (usize, &usize)| Cell {
        device: usize::from(at > 0),
        member: *member,
    };
    dearest.iter().enumerate().map(place).collect()
}

/// The dearest first, each on the device that has the least to do so far.
fn balanced(shown: &Snapshot, devices: usize) -> Vec<Cell> {
    let mut busy = vec![0u64; devices];
    let place = |member: usize| {
        let least = busy.iter().enumerate().min_by_key(|(_, flops)| **flops);
        let device = least.map_or(0, |(device, _)| device);
        busy[device] += shown.members[member].flops;
        Cell { device, member }
    };
    dearest(shown).into_iter().map(place).collect()
}

/// Each on its own device, the dearest also on those that are left.
fn helped(shown: &Snapshot) -> Vec<Cell> {
    let (devices, members) = (shown.devices.len(), shown.members.len());
    let left = (members..devices).zip(dearest(shown).into_iter().cycle());
    let more = left.map(|(device, member)| Cell { device, member });
    own_devices(members).into_iter().chain(more).collect()
}

fn dearest(shown: &Snapshot) -> Vec<usize> {
    let mut members: Vec<usize> = (0..shown.members.len()).collect();
    members.sort_by_key(|m| std::cmp::Reverse(shown.members[*m].flops));
    members
}
