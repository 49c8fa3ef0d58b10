//! Matrices by a rule: worst-fit decreasing with priority to accelerators (the paper,
//! algorithm 1), and the baseline that searches are compared with, the best batch size for
//! each member, each alone on a device (section IV.C).

use std::cmp::Reverse;
use std::sync::Arc;

use crate::allocation::{Cell, DoesNotFit, Footprints, Frame, Matrix};
use crate::device::{Devices, Ledger};
use crate::ensemble::BatchSize;

use super::control::Control;
use super::error::SearchError;
use super::evaluator::Evaluator;

/// A matrix that fits: members by decreasing memory, each on the device with most
/// free memory, accelerators first, at the smallest batch size. Devices that share a
/// memory space tie; the one with the fewest booked FLOPs takes the member, then the
/// lowest index.
///
/// # Errors
/// A member fits nowhere: which, how much it needs and how much there is.
pub fn worst_fit(
    frame: &Arc<Frame>,
    devices: &Devices,
    footprints: &Footprints,
) -> Result<Matrix, SearchError> {
    let smallest = frame.batch_sizes.smallest();
    let sizes = vec![smallest; frame.members.len()];
    place(frame, devices, footprints, &sizes)
}

/// Worst-fit decreasing with a batch size chosen for each member beforehand.
fn place(
    frame: &Arc<Frame>,
    devices: &Devices,
    footprints: &Footprints,
    sizes: &[BatchSize],
) -> Result<Matrix, SearchError> {
    let members = frame.members.len();
    let mut order: Vec<usize> = (0..members).collect();
    let bytes = |member: usize| footprints.bytes(Cell { device: 0, member }, sizes[member]);
    order.sort_by_key(|&m| Reverse(bytes(m)));
    let mut ledger = footprints.ledger(devices)?;
    let mut entries = vec![None; devices.count() * members];
    for member in order {
        let size = sizes[member];
        let device = book_somewhere(devices, footprints, &mut ledger, (member, size), &[])?;
        entries[device * members + member] = Some(size);
    }
    Ok(Matrix::new(Arc::clone(frame), entries)?)
}

/// Books a worker of a member on the roomiest device that is not `barred`.
pub(super) fn book_somewhere(
    devices: &Devices,
    footprints: &Footprints,
    ledger: &mut Ledger,
    (member, size): (usize, BatchSize),
    barred: &[usize],
) -> Result<usize, DoesNotFit> {
    let mut refusal = None;
    for accelerators in [true, false] {
        let Some(device) = roomiest(devices, ledger, accelerators, barred) else {
            continue;
        };
        match footprints.book_one(ledger, devices, Cell { device, member }, size) {
            Ok(()) => return Ok(device),
            Err(error) => refusal = Some(error),
        }
    }
    Err(refusal.unwrap_or_else(|| DoesNotFit::Worker {
        member: format!("number {member}"),
        device: "none".into(),
        batch: size.get(),
        needed: 0,
        free: 0,
        capacity: 0,
    }))
}

fn roomiest(
    devices: &Devices,
    ledger: &Ledger,
    accelerators: bool,
    barred: &[usize],
) -> Option<usize> {
    (0..devices.count())
        .filter(|d| !barred.contains(d))
        .filter(|&d| devices.get(d).kind.is_accelerator() == accelerators)
        .min_by_key(|&d| (Reverse(ledger.free(d)), ledger.flops(d), d))
}

/// Measures each member alone on the first device (the first accelerator, where there are
/// any) at every batch size (through `alone`, an evaluator of that member's one-device
/// matrix), then assigns to each its best size and a device of its own, an accelerator where
/// there are any; where those are fewer than members, worst-fit decreasing shares all
/// devices. Returns the matrix and the number of evaluations.
///
/// # Errors
/// A measurement broke down or was stopped, or a member fits nowhere.
pub fn best_batch(
    frame: &Arc<Frame>,
    devices: &Devices,
    footprints: &Footprints,
    mut alone: impl FnMut(usize) -> Result<Box<dyn Evaluator>, SearchError>,
    control: &Control,
) -> Result<(Matrix, usize), SearchError> {
    let preferred = devices.preferred();
    let mut sizes = Vec::new();
    let mut evaluations = 0;
    control.update(|p| p.expect(frame.members.len() * frame.batch_sizes.count()));
    control.begin_phase(0);
    for member in 0..frame.members.len() {
        let mut evaluator = alone(member)?;
        let place = Cell {
            device: preferred[0],
            member,
        };
        let (size, scored) = best_size(frame, place, evaluator.as_mut(), control)?;
        evaluations += scored;
        sizes.push(size);
    }
    if preferred.len() >= frame.members.len() {
        let matrix = one_each(frame, &sizes, &preferred)?;
        if footprints.book(&matrix, devices).is_ok() {
            return Ok((matrix, evaluations));
        }
    }
    Ok((place(frame, devices, footprints, &sizes)?, evaluations))
}

fn best_size(
    frame: &Arc<Frame>,
    place: Cell,
    evaluator: &mut dyn Evaluator,
    control: &Control,
) -> Result<(BatchSize, usize), SearchError> {
    let single = Arc::new(Frame {
        devices: vec![frame.devices[place.device].clone()],
        members: vec![frame.members[place.member].clone()],
        batch_sizes: frame.batch_sizes.clone(),
    });
    let mut best = (frame.batch_sizes.smallest(), 0.0);
    for size in frame.batch_sizes.iter() {
        control.checkpoint()?;
        let matrix = Matrix::new(Arc::clone(&single), vec![Some(size)])?;
        let score = evaluator.score(&matrix, best.1)?.samples_per_s;
        if score > best.1 {
            best = (size, score);
        }
        control.update(|p| {
            p.neighbour += 1;
            p.evaluations += 1;
            p.scores.push(score);
        });
    }
    Ok((best.0, frame.batch_sizes.count()))
}

/// Each member on one of `devices`, in order.
fn one_each(
    frame: &Arc<Frame>,
    sizes: &[BatchSize],
    devices: &[usize],
) -> Result<Matrix, SearchError> {
    let members = frame.members.len();
    let mut entries = vec![None; frame.devices.len() * members];
    for (member, (&size, device)) in sizes.iter().zip(devices).enumerate() {
        entries[device * members + member] = Some(size);
    }
    Ok(Matrix::new(Arc::clone(frame), entries)?)
}
