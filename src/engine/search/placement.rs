//! Matrices by a rule.
//!
//! - Worst-fit decreasing with priority to accelerators (the paper, algorithm 1).
//! - The baseline of searches: the best batch size for each member, each alone on a device
//!   (section IV.C).
//! - Matrices for failing devices: a lost device is evacuated, and a device that is slower than its
//!   profile is relieved of a worker.

use std::cmp::Reverse;
use std::sync::Arc;

use divisi_model::allocation::{Cell, DoesNotFit, Footprints, Frame, Matrix};
use divisi_model::ensemble::BatchSize;
use divisi_model::profile::Costs;
use divisi_runtime::device::{DeviceIndex, Devices, Ledger, MemberIndex};

use super::control::Control;
use super::error::SearchError;
use super::evaluator::Evaluator;
use super::model::{Batching, LinearProgram, Rates};

/// Returns a matrix that fits. Members are placed by decreasing memory, each on the device with
/// most free memory, accelerators first, at the smallest batch size. Among devices that share a
/// memory space, the one with the fewest booked FLOPs takes the member, then the lowest index.
///
/// # Errors
/// A member fits nowhere. The error holds its name, the needed memory and the free memory.
pub fn worst_fit(
    frame: &Arc<Frame>,
    devices: &Devices,
    footprints: &Footprints,
) -> Result<Matrix, SearchError> {
    let smallest = frame.batch_sizes.smallest();
    let sizes = vec![smallest; frame.members.len()];
    place(frame, devices, footprints, &sizes)
}

/// Places members by worst-fit decreasing with a given batch size for each.
fn place(
    frame: &Arc<Frame>,
    devices: &Devices,
    footprints: &Footprints,
    sizes: &[BatchSize],
) -> Result<Matrix, SearchError> {
    let members = frame.members.len();
    let mut order: Vec<MemberIndex> = MemberIndex::all(members).collect();
    let device = DeviceIndex::new(0);
    let bytes = |member: MemberIndex| footprints.bytes(Cell { device, member }, sizes[member]);
    order.sort_by_key(|&m| Reverse(bytes(m)));
    let mut ledger = footprints.ledger(devices)?;
    let mut entries = vec![None; devices.count() * members];
    for member in order {
        let size = sizes[member];
        let device = book_somewhere(devices, footprints, &mut ledger, member, size, &[])?;
        entries[Cell { device, member }.index_in(members)] = Some(size);
    }
    Ok(Matrix::new(Arc::clone(frame), entries)?)
}

/// Books a worker of a member on the device with most free memory that is not `barred`.
fn book_somewhere(
    devices: &Devices,
    footprints: &Footprints,
    ledger: &mut Ledger,
    member: MemberIndex,
    size: BatchSize,
    barred: &[DeviceIndex],
) -> Result<DeviceIndex, DoesNotFit> {
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
    barred: &[DeviceIndex],
) -> Option<DeviceIndex> {
    devices
        .indices()
        .filter(|d| !barred.contains(d))
        .filter(|&d| devices.get(d).kind.is_accelerator() == accelerators)
        .min_by_key(|&d| (Reverse(ledger.free(d)), ledger.flops(d), d))
}

/// Measures each member alone on the first device (the first accelerator if there are any) at every
/// batch size, through `alone`, an evaluator of that member's one-device matrix. Then assigns to
/// each its best size and its own device, an accelerator if there are any. If there are fewer
/// devices than members, worst-fit decreasing shares all devices. Returns the matrix and the number
/// of evaluations.
///
/// # Errors
/// A measurement failed or was stopped, or a member fits nowhere.
pub fn best_batch(
    frame: &Arc<Frame>,
    devices: &Devices,
    footprints: &Footprints,
    mut alone: impl FnMut(MemberIndex) -> Result<Box<dyn Evaluator>, SearchError>,
    control: &Control,
) -> Result<(Matrix, usize), SearchError> {
    let preferred = devices.preferred();
    let mut sizes = Vec::new();
    let mut evaluations = 0;
    control.update(|p| p.expect(frame.members.len() * frame.batch_sizes.count()));
    control.begin_phase(0);
    for member in MemberIndex::all(frame.members.len()) {
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

/// Places each member on one of `devices`, in order.
fn one_each(
    frame: &Arc<Frame>,
    sizes: &[BatchSize],
    devices: &[DeviceIndex],
) -> Result<Matrix, SearchError> {
    let members = frame.members.len();
    let mut entries = vec![None; frame.devices.len() * members];
    for (member, (&size, &device)) in MemberIndex::enumerate(sizes.iter().zip(devices)) {
        entries[Cell { device, member }.index_in(members)] = Some(size);
    }
    Ok(Matrix::new(Arc::clone(frame), entries)?)
}

/// Returns the matrix without the workers of the devices in `lost`. Other workers stay. Members
/// without a worker are placed by worst-fit decreasing, at the smallest batch size, in the
/// remaining memory.
///
/// # Errors
/// A member no longer fits. The error holds its name, the needed memory and the free memory.
pub fn evacuate(
    matrix: &Matrix,
    lost: &[DeviceIndex],
    devices: &Devices,
    footprints: &Footprints,
) -> Result<Matrix, SearchError> {
    let kept = matrix.workers().filter(|(c, _)| !lost.contains(&c.device));
    let kept: Vec<_> = kept.collect();
    complete(matrix.frame(), &kept, lost, devices, footprints)
}

/// Returns the matrix with the workers of `kept`. Members without a worker are placed by worst-fit
/// decreasing, at the smallest batch size, in the remaining memory of devices that are not `lost`.
///
/// # Errors
/// A member no longer fits. The error holds its name, the needed memory and the free memory.
pub fn complete(
    frame: &Arc<Frame>,
    kept: &[(Cell, BatchSize)],
    lost: &[DeviceIndex],
    devices: &Devices,
    footprints: &Footprints,
) -> Result<Matrix, SearchError> {
    let devices = devices.without_memory_of(lost);
    let mut ledger = footprints.ledger(&devices)?;
    let mut entries = vec![None; frame.devices.len() * frame.members.len()];
    for &(cell, size) in kept {
        footprints.book_one(&mut ledger, &devices, cell, size)?;
        entries[cell.index_in(frame.members.len())] = Some(size);
    }
    let size = frame.batch_sizes.smallest();
    for member in bare(frame, kept, footprints, size) {
        let device = book_somewhere(&devices, footprints, &mut ledger, member, size, lost)?;
        entries[Cell { device, member }.index_in(frame.members.len())] = Some(size);
    }
    Ok(Matrix::new(frame.clone(), entries)?)
}

/// Returns the members without a kept worker, the largest first.
fn bare(
    frame: &Frame,
    kept: &[(Cell, BatchSize)],
    footprints: &Footprints,
    size: BatchSize,
) -> Vec<MemberIndex> {
    let is_kept = |member: &MemberIndex| kept.iter().any(|(cell, _)| cell.member == *member);
    let members = MemberIndex::all(frame.members.len());
    let device = DeviceIndex::new(0);
    let mut bare: Vec<MemberIndex> = members.filter(|m| !is_kept(m)).collect();
    bare.sort_by_key(|&member| Reverse(footprints.bytes(Cell { device, member }, size)));
    bare
}

/// A proposal must promise throughput higher by at least this factor;
const WORTHWHILE: f64 = 1.02;
/// or, at the same throughput, batches that are faster by this factor.
const QUICKER: f64 = 1.2;
/// Throughputs this close count as equal.
const SAME: f64 = 1.0 - 1e-9;

/// Returns the change of the worker at `cell` that adds most throughput. Each device is slower by
/// its factor in `slowdown` (1: as fast as its costs). The worker moves to another device, or stays
/// with another batch size.
///
/// If no change adds two per cent, because other workers limit the throughput, returns the move
/// with the fastest batches that keeps the throughput. Returns `None` if no fitting change is
/// better, there is no worker, or costs are missing. Batches are formed by `batching`.
pub fn propose_move(
    matrix: &Matrix,
    costs: &Costs,
    batching: Batching,
    slowdown: &[f64],
    footprints: &Footprints,
    devices: &Devices,
    cell: Cell,
) -> Option<Matrix> {
    let size = matrix.get(cell).filter(|_| costs.is_complete())?;
    let rates = Rates::slowed(matrix.frame(), devices, costs, batching, slowdown);
    let before = throughput(&rates, matrix);
    let mut faster = (WORTHWHILE * before, None);
    let mut quicker = (latency(&rates, cell, size) / QUICKER, None);
    for (to, new, changed) in moves(matrix, cell) {
        if footprints.book(&changed, devices).is_err() {
            continue;
        }
        let promised = throughput(&rates, &changed);
        if promised > faster.0 {
            faster = (promised, Some(changed));
        } else if new == size && promised >= SAME * before && latency(&rates, to, new) < quicker.0 {
            quicker = (latency(&rates, to, new), Some(changed));
        }
    }
    faster.1.or(quicker.1)
}

fn throughput(rates: &Rates, matrix: &Matrix) -> f64 {
    let workers: Vec<_> = rates.workers(matrix).iter().map(|w| w.rate).collect();
    LinearProgram::new(rates.members(), rates.devices(), &workers).throughput()
}

fn latency(rates: &Rates, cell: Cell, size: BatchSize) -> f64 {
    let number = rates.sizes().iter().position(|s| *s == size);
    number.map_or(f64::INFINITY, |number| rates.at(cell, number).latency)
}

/// Returns every matrix in which the worker at `cell` has another place or batch size, with both.
fn moves(matrix: &Matrix, cell: Cell) -> impl Iterator<Item = (Cell, BatchSize, Matrix)> + '_ {
    let devices = DeviceIndex::all(matrix.frame().devices.len());
    let places = devices.map(move |device| Cell { device, ..cell });
    let free = places.filter(move |to| *to == cell || matrix.get(*to).is_none());
    free.flat_map(move |to| {
        let sizes = matrix.frame().batch_sizes.iter();
        let others = sizes.filter(move |size| to != cell || matrix.get(cell) != Some(*size));
        others.filter_map(move |size| Some((to, size, moved(matrix, cell, to, size)?)))
    })
}

fn moved(matrix: &Matrix, from: Cell, to: Cell, size: BatchSize) -> Option<Matrix> {
    // Adds the new worker first, so that the member is never without a worker.
    let there = matrix.with_entry(to, Some(size)).ok()?;
    if to == from {
        return Some(there);
    }
    there.with_entry(from, None).ok()
}
