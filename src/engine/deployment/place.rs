//! The places of models in a matrix: models that stay keep theirs, and a new version takes those of
//! the old one.

use std::sync::Arc;

use crate::search::{complete, worst_fit};
use crate::serving::{EngineOptions, Setup};
use divisi_model::allocation::{Cell, Footprints, Frame, Matrix, PoolSize};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::{BatchSize, Member, MemberPrecision};
use divisi_runtime::device::{Device, DeviceIndex, Devices, Ledger, MemberIndex};

use super::DeploymentError;
use super::generation::Generation;
use super::preview::MemoryChange;
use super::wish::{grown, own_entry, wished};

/// Returns a matrix for a catalogue: models with wished places there, others by worst-fit
/// decreasing.
pub(super) fn first(
    catalogue: &Catalogue,
    devices: &Devices,
    options: EngineOptions,
) -> Result<Matrix, DeploymentError> {
    let precisions = catalogue.models().precisions();
    let footprints = footprints(catalogue, &precisions, devices, options)?;
    let frame = Frame::from_ensemble(catalogue.models(), devices);
    let wished = wished(catalogue, &frame, devices, |_| true);
    let found = match wished.is_empty() {
        true => worst_fit(&frame, devices, &footprints),
        // Wishes that do not fit are dropped.
        false => complete(&frame, &wished, &[], devices, &footprints)
            .or_else(|_| worst_fit(&frame, devices, &footprints)),
    };
    Ok(grown(found?, catalogue, devices, &footprints, |_| true))
}

/// The places for the models of a catalogue, and whether they fit next to the running models.
pub(super) struct Placement {
    /// The matrix.
    pub matrix: Matrix,
    /// The precision of each column.
    pub precisions: Vec<MemberPrecision>,
    /// The device without enough memory for both engines, or `None` if both fit.
    pub not_beside: Option<NoRoomBeside>,
    /// The memory of each device.
    pub memory: Vec<MemoryChange>,
}

/// A device without enough memory for a worker next to the running models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoRoomBeside {
    pub device: String,
    pub needed: u64,
    pub free: u64,
}

/// Returns the places and precisions for the next catalogue. Uses the setup `wanted` if there is
/// one and it still fits.
///
/// # Errors
/// The catalogue does not fit even alone.
pub(super) fn next(
    running: &Generation,
    catalogue: &Catalogue,
    wanted: Option<&Setup>,
    devices: &Devices,
    options: EngineOptions,
) -> Result<Placement, DeploymentError> {
    let is_again =
        |setup: &&Setup| *setup.matrix.frame() == Frame::from_ensemble(catalogue.models(), devices);
    let wanted = wanted.filter(is_again);
    let precisions = match wanted {
        Some(setup) => setup.precisions.clone(),
        None => catalogue.precisions_after(&running.catalogue, &running.engine.precisions()),
    };
    let footprints = footprints(catalogue, &precisions, devices, options)?;
    let lost = running.engine.faults().lost();
    let again = wanted.filter(|setup| may_run(&setup.matrix, &lost, devices, &footprints));
    let matrix = match again {
        Some(setup) => setup.matrix.clone(),
        None => placed(running, catalogue, &lost, devices, &footprints)?,
    };
    let beside = beside(
        running,
        &matrix,
        &precisions,
        catalogue,
        &footprints,
        devices,
    );
    Ok(Placement {
        memory: memory(running, &matrix, beside.as_ref().ok(), &footprints, devices),
        not_beside: beside.err(),
        matrix,
        precisions,
    })
}

/// Returns whether an earlier matrix of the same models can run again.
fn may_run(
    matrix: &Matrix,
    lost: &[DeviceIndex],
    devices: &Devices,
    footprints: &Footprints,
) -> bool {
    let mut workers = matrix.workers();
    !workers.any(|(cell, _)| lost.contains(&cell.device))
        && footprints.book(matrix, devices).is_ok()
}

fn placed(
    running: &Generation,
    catalogue: &Catalogue,
    lost: &[DeviceIndex],
    devices: &Devices,
    footprints: &Footprints,
) -> Result<Matrix, DeploymentError> {
    let new = catalogue.models();
    let matrix = running.engine.matrix();
    let frame = Frame::from_ensemble(new, devices);
    let predecessors = catalogue.predecessors(&running.catalogue);
    let stays: Vec<(MemberIndex, MemberIndex)> = MemberIndex::all(new.members.len())
        .zip(predecessors)
        .filter_map(|(member, before)| Some((member, before?)))
        .collect();
    let resized: Vec<MemberIndex> = stays
        .iter()
        .filter(|(member, before)| is_resized(&running.catalogue, *before, catalogue, *member))
        .map(|(member, _)| *member)
        .collect();
    let size_of = |member: MemberIndex, size| match resized.contains(&member) {
        true => frame.batch_sizes.smallest(),
        false => size,
    };
    let kept: Vec<(Cell, BatchSize)> = stays
        .into_iter()
        .flat_map(|(member, before)| {
            let column = matrix.column(before);
            column.filter_map(move |(device, size)| Some((Cell { device, member }, size?)))
        })
        .map(|(cell, size)| (cell, size_of(cell.member, size)))
        .filter(|(cell, size)| !lost.contains(&cell.device) && new.batch_sizes.contains(*size))
        .collect();
    let is_new = |member| kept.iter().all(|(cell, _)| cell.member != member);
    let grows = |member| is_new(member) || resized.contains(&member);
    let wishes = wished(catalogue, &frame, devices, is_new).into_iter();
    let wishes = wishes.filter(|(cell, _)| !lost.contains(&cell.device));
    let all: Vec<_> = kept.iter().copied().chain(wishes).collect();
    let found = complete(&frame, &all, lost, devices, footprints);
    let found = found.or_else(|_| complete(&frame, &kept, lost, devices, footprints));
    // A version that no longer fits in the old version's place is placed again, together with all
    // others.
    let found = found.or_else(|_| complete(&frame, &[], lost, devices, footprints))?;
    Ok(grown(found, catalogue, devices, footprints, grows))
}

/// Returns whether the configuration of a model that stays now specifies another first batch size.
fn is_resized(
    before: &Catalogue,
    old: MemberIndex,
    catalogue: &Catalogue,
    new: MemberIndex,
) -> bool {
    match (own_entry(before, old), own_entry(catalogue, new)) {
        (Some(old), Some(new)) => old.first_batch() != new.first_batch(),
        _ => false,
    }
}

/// Returns the memory of each device before, during and after the change.
fn memory(
    running: &Generation,
    matrix: &Matrix,
    during: Option<&Ledger>,
    footprints: &Footprints,
    devices: &Devices,
) -> Vec<MemoryChange> {
    let now = running.engine.ledger(&running.engine.matrix()).ok();
    let after = footprints.book(matrix, devices).ok();
    let booked = |ledger: Option<&Ledger>, device| ledger.map(|ledger| ledger.booked(device));
    let of_device = |(index, device): (DeviceIndex, &Device)| MemoryChange {
        device: device.name.clone(),
        now: booked(now.as_ref(), index).unwrap_or(0),
        during: booked(during, index),
        after: booked(after.as_ref(), index).unwrap_or(0),
        bytes: devices.memory_bytes(index),
    };
    DeviceIndex::enumerate(devices.iter())
        .map(of_device)
        .collect()
}

fn footprints(
    catalogue: &Catalogue,
    precisions: &[MemberPrecision],
    devices: &Devices,
    options: EngineOptions,
) -> Result<Footprints, DeploymentError> {
    let pools = PoolSize::for_catalogue(catalogue, options.pool)?;
    let computed = catalogue.models().in_precisions(precisions);
    Ok(Footprints::plan(&computed, devices).with_pools(&pools))
}

/// Returns the combined bookings of both engines during a handover. Shared weights count once.
fn beside(
    running: &Generation,
    matrix: &Matrix,
    precisions: &[MemberPrecision],
    catalogue: &Catalogue,
    footprints: &Footprints,
    devices: &Devices,
) -> Result<Ledger, NoRoomBeside> {
    let now = running.engine.ledger(&running.engine.matrix());
    let mut ledger = now.unwrap_or_else(|_| Ledger::new(devices));
    if let Some((space, bytes)) = footprints.pool(devices) {
        let device = devices.iter().find(|device| device.space == space);
        ledger.reserve(space, bytes).map_err(|room| NoRoomBeside {
            device: device.map_or("the host".into(), |device| device.name.clone()),
            needed: room.needed,
            free: room.free,
        })?;
    }
    let (old, new) = (running.catalogue.models(), catalogue.models());
    let running = running.engine.precisions();
    for (cell, size) in matrix.workers() {
        let mut booking = footprints.booking(cell, size);
        let same = |(m, precision): (&Arc<Member>, &MemberPrecision)| {
            m.has_weights_of(&new.members[cell.member])
                && precision.cores == precisions[cell.member].cores
        };
        if old.members.iter().zip(&running).any(same)
            && !devices.get(cell.device).kind.is_accelerator()
        {
            booking.weight_bytes = 0;
        }
        // Columns of another matrix share no weights by number.
        booking.member = MemberIndex::new(old.members.len() + cell.member.get());
        ledger.book(&booking).map_err(|room| NoRoomBeside {
            device: devices.get(cell.device).name.clone(),
            needed: room.needed,
            free: room.free,
        })?;
    }
    Ok(ledger)
}
