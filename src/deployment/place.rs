//! Where models run: those that stay keep their places, a new version takes those of the old one.

use crate::allocation::{Cell, Footprints, Frame, Matrix, PoolSize};
use crate::catalogue::Catalogue;
use crate::device::{Devices, MemberIndex};
use crate::ensemble::{BatchSize, Ensemble};
use crate::search::{complete, worst_fit};
use crate::serving::EngineOptions;

use super::DeploymentError;
use super::generation::Generation;
use super::wish::wished;

/// Returns a matrix for a catalogue: models where they are wished, others by worst-fit decreasing.
pub(super) fn first(
    catalogue: &Catalogue,
    devices: &Devices,
    options: EngineOptions,
) -> Result<Matrix, DeploymentError> {
    let footprints = footprints(catalogue, devices, options)?;
    let frame = Frame::of(catalogue.models(), devices);
    let wished = wished(catalogue, &frame, devices, |_| true);
    let found = match wished.is_empty() {
        true => worst_fit(&frame, devices, &footprints),
        // Wishes that do not fit are wishes still.
        false => complete(&frame, &wished, &[], devices, &footprints)
            .or_else(|_| worst_fit(&frame, devices, &footprints)),
    };
    Ok(found?)
}

/// Returns the matrix of the catalogue that follows the running one.
///
/// # Errors
/// It does not fit, alone or beside what runs.
pub(super) fn next(
    running: &Generation,
    catalogue: &Catalogue,
    devices: &Devices,
    options: EngineOptions,
) -> Result<Matrix, DeploymentError> {
    let (old, new) = (running.catalogue.models(), catalogue.models());
    let matrix = running.engine.matrix();
    let frame = Frame::of(new, devices);
    let footprints = footprints(catalogue, devices, options)?;
    let lost = running.engine.faults().lost();
    let kept: Vec<(Cell, BatchSize)> = MemberIndex::all(new.members.len())
        .filter_map(|member| Some((member, predecessor(old, new, member)?)))
        .flat_map(|(member, before)| {
            let column = matrix.column(before);
            column.filter_map(move |(device, size)| Some((Cell { device, member }, size?)))
        })
        .filter(|(cell, size)| !lost.contains(&cell.device) && new.batch_sizes.contains(*size))
        .collect();
    let is_new = |member| kept.iter().all(|(cell, _)| cell.member != member);
    let wishes = wished(catalogue, &frame, devices, is_new).into_iter();
    let wishes = wishes.filter(|(cell, _)| !lost.contains(&cell.device));
    let all: Vec<_> = kept.iter().copied().chain(wishes).collect();
    let found = complete(&frame, &all, &lost, devices, &footprints);
    let found = found.or_else(|_| complete(&frame, &kept, &lost, devices, &footprints));
    // A version that outgrew the place of the last one is placed anew, with all others.
    let found = found.or_else(|_| complete(&frame, &[], &lost, devices, &footprints))?;
    check_beside(running, &found, catalogue, &footprints, devices)?;
    Ok(found)
}

fn footprints(
    catalogue: &Catalogue,
    devices: &Devices,
    options: EngineOptions,
) -> Result<Footprints, DeploymentError> {
    let pools = PoolSize::of_entries(catalogue, options.pool)?;
    Ok(Footprints::of(catalogue.models(), devices).with_pools(&pools))
}

/// Returns the member whose places `member` takes: that with its network, else that of its name.
fn predecessor(old: &Ensemble, new: &Ensemble, member: MemberIndex) -> Option<MemberIndex> {
    let wanted = &new.members[member];
    let find = |is_it: &dyn Fn(&crate::ensemble::Member) -> bool| {
        let mut members = MemberIndex::enumerate(&old.members);
        members.find(|(_, m)| is_it(m)).map(|(index, _)| index)
    };
    find(&|m| m.has_network_of(wanted)).or_else(|| find(&|m| m.name == wanted.name))
}

/// Checks that both engines have room for a moment. Weights that both hold are there once.
fn check_beside(
    running: &Generation,
    matrix: &Matrix,
    catalogue: &Catalogue,
    footprints: &Footprints,
    devices: &Devices,
) -> Result<(), DeploymentError> {
    let Ok(mut ledger) = running.engine.ledger(&running.engine.matrix()) else {
        return Ok(());
    };
    let (old, new) = (running.catalogue.models(), catalogue.models());
    for (cell, size) in matrix.workers() {
        let mut booking = footprints.booking(cell, size);
        let same = |m: &std::sync::Arc<crate::ensemble::Member>| {
            m.has_network_of(&new.members[cell.member])
        };
        if old.members.iter().any(same) && !devices.get(cell.device).kind.is_accelerator() {
            booking.weight_bytes = 0;
        }
        // Columns of another matrix: no weights are shared by number.
        booking.member = MemberIndex::new(old.members.len() + cell.member.get());
        ledger
            .book(&booking)
            .map_err(|room| DeploymentError::Beside {
                device: devices.get(cell.device).name.clone(),
                needed: room.needed,
                free: room.free,
            })?;
    }
    Ok(())
}
