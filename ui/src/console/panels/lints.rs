//! What is worth acting on in the running allocation.

use divisi::allocation::Cell;
use divisi::session::Snapshot;

use crate::console::format;

/// Under this share a device counts as idle.
const IDLE: f64 = 0.5;
/// Under this share a batch counts as not filled.
const UNFILLED: f64 = 0.5;
/// On a device with time to spare, small batches are right: they wait for nothing.
const PRESSED: f64 = 0.7;
/// Fewer batches say nothing yet.
const ENOUGH: u64 = 20;

/// Sentences, the gravest first; none while nothing is asked of the ensemble.
pub fn lints(shown: &Snapshot) -> Vec<String> {
    let lost = retired(shown);
    if shown.throughput.samples_per_s < 1.0 {
        return lost.collect();
    }
    lost.chain(interfered(shown))
        .chain(holding_up(shown))
        .chain(idle(shown))
        .chain(unfilled(shown))
        .collect()
}

/// Workers that panicked too often; applying any matrix starts them again.
fn retired(shown: &Snapshot) -> impl Iterator<Item = String> + '_ {
    let cells = shown.matrix.cells().zip(&shown.entries);
    cells
        .filter(|(_, entry)| entry.retired)
        .filter_map(|(cell, _)| {
            let device = shown.devices.get(cell.device)?;
            let member = shown.members.get(cell.member)?;
            Some(format!(
                "{} × {}: its worker is retired, see the log",
                device.name, member.name
            ))
        })
}

/// Workers that suffer from others on their device, or from the device.
fn interfered(shown: &Snapshot) -> impl Iterator<Item = String> + '_ {
    let cells = shown.matrix.cells().zip(&shown.entries);
    cells.filter_map(|(cell, entry)| {
        let slower = entry.interfered?;
        let device = shown.devices.get(cell.device)?;
        let member = shown.members.get(cell.member)?;
        Some(format!(
            "{} × {} takes {} its profile's time",
            device.name,
            member.name,
            format::times(slower)
        ))
    })
}

/// One member's queue is longer than all the others' together.
fn holding_up(shown: &Snapshot) -> Option<String> {
    let member = shown.members.iter().max_by_key(|m| m.queued)?;
    let all: usize = shown.members.iter().map(|m| m.queued).sum();
    let alone = shown.members.len() > 1 && member.queued > 32 && member.queued * 2 > all;
    alone.then(|| {
        format!(
            "{} holds everyone up: {} samples wait for it",
            member.name, member.queued
        )
    })
}

fn idle(shown: &Snapshot) -> impl Iterator<Item = String> + '_ {
    let busy = shown.devices.iter().any(|d| d.busy > 0.9);
    let idle = shown
        .devices
        .iter()
        .filter(move |d| busy && !d.lost && d.busy < IDLE);
    idle.map(|d| {
        format!(
            "{} is idle {:.0} % of the time",
            d.name,
            (1.0 - d.busy) * 100.0
        )
    })
}

fn unfilled(shown: &Snapshot) -> impl Iterator<Item = String> + '_ {
    let members = shown.members.len().max(1);
    let workers = shown.matrix.workers();
    workers.filter_map(move |(Cell { device, member }, size)| {
        let entry = shown.entries.get(device * members + member)?;
        let (device, member) = (shown.devices.get(device)?, shown.members.get(member)?);
        let poor = size.get() > 1 && entry.batches >= ENOUGH && entry.fill < UNFILLED;
        (poor && device.busy > PRESSED).then(|| {
            let fill = entry.fill * 100.0;
            format!(
                "{} × {}: batches of {size} are {fill:.0} % full",
                device.name, member.name
            )
        })
    })
}
