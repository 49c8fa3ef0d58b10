//! The memory of the workers and sample pool of a matrix, and whether it fits.

use std::sync::Arc;

use thiserror::Error;

use crate::catalogue::Catalogue;
use crate::ensemble::{BatchSize, Ensemble, Member, MemberPrecision, PolicyKind};
use divisi_runtime::compute::{Footprint, FootprintModel};
use divisi_runtime::device::gpu::GpuInfo;
use divisi_runtime::device::{
    Booking, Computation, DeviceKind, Devices, Ledger, NoRoom, SpaceId, format_bytes,
};

use super::matrix::{Cell, Matrix};
use super::pool::{PoolBounds, PoolSize};

/// The memory of each member on each device at each allowed batch size, and of the sample pool on
/// the host.
#[derive(Clone, Debug)]
pub struct Footprints {
    members: Vec<Arc<MemberFootprint>>,
    pool_bytes: u64,
}

#[derive(Clone, Debug)]
struct MemberFootprint {
    name: String,
    flops: u64,
    precision: MemberPrecision,
    /// Footprints by device and batch size.
    by_size: Vec<Vec<(BatchSize, Footprint)>>,
}

/// A worker or the sample pool does not fit in memory.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DoesNotFit {
    /// A worker does not fit on its device.
    #[error(
        "member `{member}` at batch size {batch} needs {} on `{device}`; {} of {} are free",
        format_bytes(*.needed), format_bytes(*.free), format_bytes(*.capacity)
    )]
    Worker {
        /// The member's name.
        member: String,
        /// The device's name.
        device: String,
        /// The batch size.
        batch: usize,
        /// Bytes that the worker needs.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes of the device's memory.
        capacity: u64,
    },
    /// The sample pool does not fit in host memory.
    #[error(
        "the sample pool needs {} of host memory; {} are free",
        format_bytes(*.needed), format_bytes(*.free)
    )]
    Pool {
        /// Bytes that the pool needs.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
}

/// Returns the bytes of a worker's share of the sample pool, for a device with its own memory.
/// Under policies that copy ahead, the share holds several times the worker's batch, and the part
/// of a request that is being copied.
fn pool_share(ensemble: &Ensemble, member: &Member, kind: &DeviceKind, size: BatchSize) -> u64 {
    if !kind.is_concurrent() {
        return 0;
    }
    let samples = PolicyKind::POOL * size.get() + ensemble.segment_size;
    4 * (samples * member.input.shape.elements()) as u64
}

impl MemberFootprint {
    /// Plans the memory of a member with precision `precision`.
    fn of(
        ensemble: &Ensemble,
        member: &Member,
        precision: MemberPrecision,
        devices: &Devices,
    ) -> Self {
        let by = member.lowered_by(precision.kernels());
        let kernels = FootprintModel::of_kernels(&member.graph, by);
        let simulated = FootprintModel::of_accelerator(&member.graph);
        let gpu = |info: &GpuInfo| {
            let on_gpu = precision.on_gpu(info, ensemble.precision);
            FootprintModel::of_gpu(&member.graph, on_gpu)
        };
        let on = |kind: &DeviceKind| {
            let of_gpu;
            let model = match kind.computation() {
                Computation::Kernels(_) => &kernels,
                Computation::Gpu(info) => {
                    of_gpu = gpu(info);
                    &of_gpu
                }
                Computation::Law(_) => &simulated,
            };
            let sizes = ensemble.batch_sizes.iter();
            let plan = |size: BatchSize| {
                let mut plan = model.at(size.get(), kind.threads());
                let pool = pool_share(ensemble, member, kind, size);
                let beside = kind.worker_bytes().saturating_add(pool);
                plan.activation_bytes = plan.activation_bytes.saturating_add(beside);
                plan
            };
            sizes.map(|size| (size, plan(size))).collect()
        };
        MemberFootprint {
            name: member.name.clone(),
            flops: member.graph.flops(),
            precision,
            by_size: devices.iter().map(|d| on(&d.kind)).collect(),
        }
    }
}

impl Footprints {
    /// Plans the memory of every member on every device at every allowed batch size.
    pub fn plan(ensemble: &Ensemble, devices: &Devices) -> Self {
        let members = ensemble.members.iter().map(|member| {
            let planned = MemberFootprint::of(ensemble, member, member.precision, devices);
            Arc::new(planned)
        });
        let pool = PoolSize::for_ensemble(ensemble, PoolBounds::default());
        Footprints {
            members: members.collect(),
            // If the pool is not possible, starting an engine reports the error.
            pool_bytes: pool.map_or(0, PoolSize::bytes),
        }
    }

    /// Plans the memory of the members of all entries of a catalogue, with the sample pools of the
    /// entries.
    pub fn plan_catalogue(catalogue: &Catalogue, devices: &Devices) -> Self {
        let alone = Footprints::plan(catalogue.models(), devices);
        // If a pool is not possible, starting an engine reports the error.
        match PoolSize::for_catalogue(catalogue, PoolBounds::default()) {
            Ok(pools) => alone.with_pools(&pools),
            Err(_) => alone,
        }
    }

    /// Returns the footprints with other precisions, one per member. Members with an unchanged
    /// precision are not planned again.
    #[must_use]
    pub fn in_precisions(
        &self,
        ensemble: &Ensemble,
        devices: &Devices,
        precisions: &[MemberPrecision],
    ) -> Self {
        let each = self.members.iter().zip(&ensemble.members).zip(precisions);
        let members = each.map(|((known, member), precision)| {
            let is_same = |kind: &DeviceKind| {
                let (known, of_all) = (known.precision, ensemble.precision);
                known.is_same_on(*precision, kind, of_all)
            };
            match devices.iter().all(|device| is_same(&device.kind)) {
                true => Arc::clone(known),
                false => Arc::new(MemberFootprint::of(ensemble, member, *precision, devices)),
            }
        });
        Footprints {
            members: members.collect(),
            pool_bytes: self.pool_bytes,
        }
    }

    /// Returns the footprints with these pools.
    #[must_use]
    pub fn with_pools(self, pools: &[PoolSize]) -> Self {
        Footprints {
            pool_bytes: pools.iter().map(|pool| pool.bytes()).sum(),
            ..self
        }
    }

    /// Returns the memory space and the bytes of the sample pool, or `None` if no device uses host
    /// memory or the host is gone.
    pub fn pool(&self, devices: &Devices) -> Option<(SpaceId, u64)> {
        let host = devices.host_space()?;
        let gone = devices.spaces()[host.0].bytes == 0;
        (!gone).then_some((host, self.pool_bytes))
    }

    /// Returns a ledger for `devices` with only the sample pool booked.
    ///
    /// # Errors
    /// The host has no room for the pool.
    pub fn ledger(&self, devices: &Devices) -> Result<Ledger, DoesNotFit> {
        let mut ledger = Ledger::new(devices);
        if let Some((space, bytes)) = self.pool(devices) {
            let refused = |room: NoRoom| DoesNotFit::Pool {
                needed: room.needed,
                free: room.free,
            };
            ledger.reserve(space, bytes).map_err(refused)?;
        }
        Ok(ledger)
    }

    /// Returns the bytes of a single worker at `cell` with batches of `size`.
    pub fn bytes(&self, cell: Cell, size: BatchSize) -> u64 {
        let f = self.footprint(cell, size);
        f.weight_bytes + f.activation_bytes
    }

    fn footprint(&self, cell: Cell, size: BatchSize) -> Footprint {
        let sizes = &self.members[cell.member].by_size[cell.device];
        // A matrix has only allowed sizes. Any other size would never fit.
        let never = Footprint {
            weight_bytes: 0,
            activation_bytes: u64::MAX / 4,
        };
        let found = sizes.iter().find(|(s, _)| *s == size);
        found.map_or(never, |(_, f)| *f)
    }

    /// Returns the booking of a worker at `cell`.
    pub fn booking(&self, cell: Cell, size: BatchSize) -> Booking {
        let f = self.footprint(cell, size);
        Booking {
            device: cell.device,
            member: cell.member,
            weight_bytes: f.weight_bytes,
            activation_bytes: f.activation_bytes,
            flops: self.members[cell.member].flops,
        }
    }

    /// Books the sample pool and every worker of `matrix` in an empty ledger.
    ///
    /// # Errors
    /// The pool or a worker does not fit.
    pub fn book(&self, matrix: &Matrix, devices: &Devices) -> Result<Ledger, DoesNotFit> {
        let mut ledger = self.ledger(devices)?;
        for (cell, size) in matrix.workers() {
            self.book_one(&mut ledger, devices, cell, size)?;
        }
        Ok(ledger)
    }

    /// Books one more worker.
    ///
    /// # Errors
    /// The worker does not fit. Nothing is booked then.
    pub fn book_one(
        &self,
        ledger: &mut Ledger,
        devices: &Devices,
        cell: Cell,
        size: BatchSize,
    ) -> Result<(), DoesNotFit> {
        ledger
            .book(&self.booking(cell, size))
            .map_err(|room| DoesNotFit::Worker {
                member: self.members[cell.member].name.clone(),
                device: devices.get(cell.device).name.clone(),
                batch: size.get(),
                needed: room.needed,
                free: room.free,
                capacity: devices.memory_bytes(cell.device),
            })
    }
}
