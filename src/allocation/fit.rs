//! Memory fit: what the workers of a matrix book, and whether there is room.

use thiserror::Error;

use crate::compute::{Footprint, footprint};
use crate::device::{Booking, Devices, Ledger, format_bytes};
use crate::ensemble::{BatchSize, Ensemble};

use super::matrix::{Cell, Matrix};

/// What each member books at each allowed batch size.
#[derive(Clone, Debug)]
pub struct Footprints {
    members: Vec<MemberFootprint>,
}

#[derive(Clone, Debug)]
struct MemberFootprint {
    name: String,
    flops: u64,
    by_size: Vec<(BatchSize, Footprint)>,
}

/// A worker has no room on its device.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "member `{member}` at batch size {batch} needs {} on `{device}`, where {} of {} are free",
    format_bytes(*.needed), format_bytes(*.free), format_bytes(*.capacity)
)]
pub struct DoesNotFit {
    pub member: String,
    pub device: String,
    pub batch: usize,
    pub needed: u64,
    pub free: u64,
    pub capacity: u64,
}

impl Footprints {
    /// Plans every member at every allowed batch size.
    pub fn of(ensemble: &Ensemble) -> Self {
        let members = ensemble
            .members
            .iter()
            .map(|member| MemberFootprint {
                name: member.name.clone(),
                flops: member.graph.flops(),
                by_size: ensemble
                    .batch_sizes
                    .iter()
                    .map(|size| (size, footprint(&member.graph, size.get())))
                    .collect(),
            })
            .collect();
        Footprints { members }
    }

    /// Bytes of a lone worker of `member` with batches of `size`.
    pub fn bytes(&self, member: usize, size: BatchSize) -> u64 {
        let f = self.footprint(member, size);
        f.weight_bytes + f.activation_bytes
    }

    fn footprint(&self, member: usize, size: BatchSize) -> Footprint {
        let sizes = &self.members[member].by_size;
        sizes.iter().find(|(s, _)| *s == size).map_or(
            Footprint {
                weight_bytes: 0,
                activation_bytes: u64::MAX / 4,
            },
            |(_, f)| *f,
        )
    }

    /// What a worker at `cell` books.
    pub fn booking(&self, cell: Cell, size: BatchSize) -> Booking {
        let f = self.footprint(cell.member, size);
        Booking {
            device: cell.device,
            member: cell.member,
            weight_bytes: f.weight_bytes,
            activation_bytes: f.activation_bytes,
            flops: self.members[cell.member].flops,
        }
    }

    /// Books every worker of `matrix` in an empty ledger.
    ///
    /// # Errors
    /// The first worker without room.
    pub fn book(&self, matrix: &Matrix, devices: &Devices) -> Result<Ledger, DoesNotFit> {
        let mut ledger = Ledger::new(devices);
        for (cell, size) in matrix.workers() {
            self.book_one(&mut ledger, devices, cell, size)?;
        }
        Ok(ledger)
    }

    /// Books one more worker.
    ///
    /// # Errors
    /// It has no room; nothing is booked.
    pub fn book_one(
        &self,
        ledger: &mut Ledger,
        devices: &Devices,
        cell: Cell,
        size: BatchSize,
    ) -> Result<(), DoesNotFit> {
        ledger
            .book(&self.booking(cell, size))
            .map_err(|room| DoesNotFit {
                member: self.members[cell.member].name.clone(),
                device: devices.get(cell.device).name.clone(),
                batch: size.get(),
                needed: room.needed,
                free: room.free,
                capacity: devices.memory_bytes(cell.device),
            })
    }
}
