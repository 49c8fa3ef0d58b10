//! Matrices for devices that fail: one that is lost is evacuated, one that is slower
//! than its profile is relieved of a worker.

use std::cmp::Reverse;

use crate::allocation::{Cell, Footprints, Matrix};
use crate::device::Devices;
use crate::ensemble::BatchSize;
use crate::profile::Costs;

use super::error::SearchError;
use super::model::{Batching, Programme, Rates};
use super::placement::book_somewhere;

/// The matrix without the workers of the devices numbered `lost`. Workers elsewhere
/// stay; members left without any are placed by worst-fit decreasing, at the smallest
/// batch size, in what memory remains.
///
/// # Errors
/// A member fits nowhere any more: which, how much it needs and how much there is.
pub fn evacuate(
    matrix: &Matrix,
    lost: &[usize],
    devices: &Devices,
    footprints: &Footprints,
) -> Result<Matrix, SearchError> {
    let frame = matrix.frame();
    let devices = devices.without(lost);
    let mut ledger = footprints.ledger(&devices)?;
    let mut entries = vec![None; frame.devices.len() * frame.members.len()];
    for (cell, size) in matrix.workers().filter(|(c, _)| !lost.contains(&c.device)) {
        footprints.book_one(&mut ledger, &devices, cell, size)?;
        entries[cell.device * frame.members.len() + cell.member] = Some(size);
    }
    let size = frame.batch_sizes.smallest();
    for member in bare(matrix, lost, footprints, size) {
        let device = book_somewhere(&devices, footprints, &mut ledger, (member, size), lost)?;
        entries[device * frame.members.len() + member] = Some(size);
    }
    Ok(Matrix::new(frame.clone(), entries)?)
}

/// Members whose every worker is lost, the largest first.
fn bare(matrix: &Matrix, lost: &[usize], footprints: &Footprints, size: BatchSize) -> Vec<usize> {
    let kept = |member: &usize| {
        let mut column = matrix.column(*member);
        column.any(|(device, entry)| entry.is_some() && !lost.contains(&device))
    };
    let members = 0..matrix.frame().members.len();
    let mut bare: Vec<usize> = members.filter(|m| !kept(m)).collect();
    bare.sort_by_key(|&member| Reverse(footprints.bytes(Cell { device: 0, member }, size)));
    bare
}

/// A proposal must promise at least this much more throughput, or moving is not worth it;
const WORTHWHILE: f64 = 1.02;
/// or, at the same throughput, batches that are so much quicker.
const QUICKER: f64 = 1.2;
/// Throughputs this near are the same.
const SAME: f64 = 1.0 - 1e-9;

/// The change of the worker at `cell` that brings most throughput where each device is
/// slower by its factor in `slowdown` (1: as its costs say): the worker moves to another
/// device, or stays with another batch size. Where none brings two per cent more, since
/// others hold the throughput down, the move that makes its batches quickest without
/// giving up throughput. None where nothing that fits is better, there is no worker, or
/// costs are missing. Batches are as `batching` forms them.
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
    Programme::new(rates.members(), rates.devices(), &workers).throughput()
}

fn latency(rates: &Rates, cell: Cell, size: BatchSize) -> f64 {
    let number = rates.sizes().iter().position(|s| *s == size);
    number.map_or(f64::INFINITY, |number| rates.at(cell, number).latency)
}

/// Every matrix in which the worker at `cell` has another place or batch size, with both.
fn moves(matrix: &Matrix, cell: Cell) -> impl Iterator<Item = (Cell, BatchSize, Matrix)> + '_ {
    let devices = 0..matrix.frame().devices.len();
    let places = devices.map(move |device| Cell { device, ..cell });
    let free = places.filter(move |to| *to == cell || matrix.get(*to).is_none());
    free.flat_map(move |to| {
        let sizes = matrix.frame().batch_sizes.iter();
        let others = sizes.filter(move |size| to != cell || matrix.get(cell) != Some(*size));
        others.filter_map(move |size| Some((to, size, moved(matrix, cell, to, size)?)))
    })
}

fn moved(matrix: &Matrix, from: Cell, to: Cell, size: BatchSize) -> Option<Matrix> {
    // First there, then gone from here, so that the member is never without a worker.
    let there = matrix.with(to, Some(size)).ok()?;
    if to == from {
        return Some(there);
    }
    there.with(from, None).ok()
}
