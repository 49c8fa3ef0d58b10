//! Whose latencies and rates are shown: the ensemble's, a member's or a worker's.

use divisi::allocation::Cell;
use divisi::session::{LatencyView, Snapshot};

/// The subject that figures are shown of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whose {
    /// The ensemble: latencies and rates of requests.
    #[default]
    Ensemble,
    /// One member, by its column.
    Member(usize),
    /// One worker, by its entry.
    Worker(Cell),
}

/// The subjects of the panels that can show more than one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scopes {
    /// Of the latency panel.
    pub latency: Whose,
    /// Of the throughput panel; never a worker's.
    pub throughput: Whose,
}

impl Whose {
    /// One level down, from the worker back to the ensemble.
    pub fn deeper(self, cursor: Cell, shown: &Snapshot) -> Self {
        match self {
            Whose::Ensemble => Whose::Member(cursor.member),
            Whose::Member(member) => {
                let here = Cell { member, ..cursor };
                worker_of(shown, here).map_or(Whose::Ensemble, Whose::Worker)
            }
            Whose::Worker(_) => Whose::Ensemble,
        }
    }

    /// The next of the same level or the one before, round and round.
    pub fn step(self, step: isize, shown: &Snapshot) -> Self {
        let turn = |at: usize, all: usize| (at as isize + step).rem_euclid(all.max(1) as isize);
        match self {
            Whose::Ensemble => self,
            Whose::Member(at) => Whose::Member(turn(at, shown.members.len()) as usize),
            Whose::Worker(cell) => {
                let cells: Vec<Cell> = shown.matrix.workers().map(|w| w.0).collect();
                let at = cells.iter().position(|c| *c == cell).unwrap_or(0);
                let next = cells.get(turn(at, cells.len()) as usize);
                next.map_or(Whose::Ensemble, |c| Whose::Worker(*c))
            }
        }
    }

    /// The same, unless it is gone since: then the ensemble.
    pub fn there(self, shown: &Snapshot) -> Self {
        let there = match self {
            Whose::Ensemble => true,
            Whose::Member(at) => at < shown.members.len(),
            Whose::Worker(cell) => shown.matrix.workers().any(|w| w.0 == cell),
        };
        if there { self } else { Whose::Ensemble }
    }

    /// `ensemble`, `res-m`, `cpu:1 × res-m`.
    pub fn name(self, shown: &Snapshot) -> String {
        let member = |at: usize| shown.members.get(at).map_or("", |m| m.name.as_str());
        match self {
            Whose::Ensemble => "ensemble".to_owned(),
            Whose::Member(at) => member(at).to_owned(),
            Whose::Worker(cell) => {
                let device = shown.devices.get(cell.device);
                let device = device.map_or("", |d| d.name.as_str());
                format!("{device} × {}", member(cell.member))
            }
        }
    }

    /// Their latencies.
    pub fn latency(self, shown: &Snapshot) -> Option<&LatencyView> {
        match self {
            Whose::Ensemble => Some(&shown.latency),
            Whose::Member(at) => shown.members.get(at).map(|m| &m.latency),
            Whose::Worker(cell) => {
                let at = cell.device * shown.members.len() + cell.member;
                shown.entries.get(at).map(|e| &e.latency)
            }
        }
    }
}

/// The member's worker on the cursor's device, or else its first.
fn worker_of(shown: &Snapshot, cell: Cell) -> Option<Cell> {
    let workers = || shown.matrix.workers().map(|w| w.0);
    let here = workers().find(|c| *c == cell);
    here.or_else(|| workers().find(|c| c.member == cell.member))
}
