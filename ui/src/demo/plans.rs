//! Example matrices for any ensemble and devices.

use std::cmp::Reverse;
use std::sync::Arc;

use anyhow::{Context, ensure};
use divisi_model::allocation::{Cell, Matrix};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::Snapshot;
use serde::Deserialize;

use crate::actions::stage;

/// An example matrix.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DemoPlan {
    /// Each member on its own device. With too few devices, the slowest member is on the first and
    /// all others on the second.
    Alone,
    /// All members share this number of devices, as evenly as possible; 0 means all devices.
    Together(usize),
    /// Like `Alone`, with the remaining devices also used for the slowest members. Without
    /// remaining devices, every member is on every device.
    Parallel,
    /// The best matrix of the search.
    Best,
}

/// A medium batch size.
const ROWS: usize = 16;

impl DemoPlan {
    /// Returns the matrix.
    ///
    /// # Errors
    /// There is no such matrix for these devices.
    pub(super) fn matrix(&self, shown: &Snapshot) -> anyhow::Result<Matrix> {
        let devices = shown.matrix.frame().devices.len();
        let members = shown.matrix.frame().members.len();
        let cells = match self {
            DemoPlan::Best => {
                let best = stage::best_matrix(shown).cloned();
                return best.context("the search has found nothing");
            }
            DemoPlan::Alone if devices >= members => own_devices(members).collect(),
            DemoPlan::Alone => {
                ensure!(devices > 1, "needs a second device: skip it");
                apart(shown)
            }
            DemoPlan::Together(0) => balanced(shown, devices),
            DemoPlan::Together(most) => balanced(shown, *most.min(&devices)),
            DemoPlan::Parallel if devices > members => helped(shown),
            DemoPlan::Parallel => Cell::all_cells(devices, members).collect(),
        };
        filled(shown, &cells)
    }
}

fn filled(shown: &Snapshot, cells: &[Cell]) -> anyhow::Result<Matrix> {
    let frame = shown.matrix.frame();
    let members = frame.members.len();
    let sizes = frame.batch_sizes.iter().filter(|s| s.get() <= ROWS);
    let size = sizes.last().unwrap_or(frame.batch_sizes.smallest());
    let mut entries = vec![None; frame.devices.len() * members];
    for cell in cells {
        entries[cell.index_in(members)] = Some(size);
    }
    Ok(Matrix::new(Arc::clone(frame), entries)?)
}

fn own_devices(members: usize) -> impl Iterator<Item = Cell> {
    DeviceIndex::all(members)
        .zip(MemberIndex::all(members))
        .map(|(device, member)| Cell { device, member })
}

/// Returns the slowest member on the first device and the others on the second.
fn apart(shown: &Snapshot) -> Vec<Cell> {
    let place = |(at, member)| Cell {
        device: DeviceIndex::new(usize::from(at > 0)),
        member,
    };
    slowest_first(shown)
        .into_iter()
        .enumerate()
        .map(place)
        .collect()
}

/// Places members from the slowest on, each on the device with the least work so far.
fn balanced(shown: &Snapshot, devices: usize) -> Vec<Cell> {
    let mut busy = vec![0u64; devices];
    let place = |member: MemberIndex| {
        let least = DeviceIndex::enumerate(&busy).min_by_key(|(_, flops)| **flops);
        let device = least.map_or(DeviceIndex::default(), |(device, _)| device);
        busy[device] += shown.members[member].flops;
        Cell { device, member }
    };
    slowest_first(shown).into_iter().map(place).collect()
}

/// Places each member on its own device, and the slowest also on the remaining devices.
fn helped(shown: &Snapshot) -> Vec<Cell> {
    let (devices, members) = (shown.devices.len(), shown.members.len());
    let left = DeviceIndex::all(devices).skip(members);
    let left = left.zip(slowest_first(shown).into_iter().cycle());
    let more = left.map(|(device, member)| Cell { device, member });
    own_devices(members).chain(more).collect()
}

fn slowest_first(shown: &Snapshot) -> Vec<MemberIndex> {
    let mut members: Vec<MemberIndex> = MemberIndex::all(shown.members.len()).collect();
    members.sort_by_key(|m| Reverse(shown.members[*m].flops));
    members
}
