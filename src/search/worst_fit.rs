//! Worst-fit decreasing with priority to accelerators (the paper, algorithm 1).

use std::cmp::Reverse;
use std::sync::Arc;

use crate::allocation::{Cell, DoesNotFit, Footprints, Frame, Matrix};
use crate::device::{Devices, Ledger};
use crate::ensemble::BatchSize;

use super::evaluator::SearchError;

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
pub(super) fn place(
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
