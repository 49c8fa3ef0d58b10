//! What a worker at each entry of a matrix can do, worked out once for a search.

use crate::allocation::{Cell, Frame, Matrix};
use crate::device::Devices;
use crate::ensemble::BatchSize;
use crate::profile::Costs;

use super::drain::Runner;
use super::program::WorkerRate;

/// Samples of a run: the paper measures over 1 024 (section IV.A). Evaluator `bench`
/// sends them, evaluator `model` predicts such a run.
pub const RUN: usize = 1024;
/// Nothing is faster than this, in seconds a sample: costs of zero have no solution.
const LEAST: f64 = 1e-12;

/// One entry at one batch size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Seconds of the whole device that a sample takes.
    pub seconds: f64,
    /// Samples a second with the device to itself.
    pub most: f64,
    /// Seconds of one batch with the device to itself.
    pub latency: f64,
}

/// Rates of every entry at every allowed batch size.
#[derive(Clone, Debug)]
pub struct Rates {
    devices: usize,
    members: usize,
    shared: bool,
    /// Samples of a run.
    run: usize,
    sizes: Vec<BatchSize>,
    /// Device by device, member by member, size by size.
    rates: Vec<Rate>,
}

impl Rates {
    /// Rates by `costs`.
    pub fn new(frame: &Frame, devices: &Devices, costs: &Costs) -> Self {
        Rates::slowed(frame, devices, costs, &[])
    }

    /// The same where a device takes `slowdown` times as long; 1 where it is not given.
    pub fn slowed(frame: &Frame, on: &Devices, costs: &Costs, slowdown: &[f64]) -> Self {
        let (devices, members) = (frame.devices.len(), frame.members.len());
        let sizes: Vec<BatchSize> = frame.batch_sizes.iter().collect();
        let mut rates = Vec::with_capacity(devices * members * sizes.len());
        for device in 0..devices {
            let slower = slowdown.get(device).copied().unwrap_or(1.0).max(LEAST);
            for member in 0..members {
                let rate = |size: &BatchSize| rate(costs, member, device, size.get(), slower);
                rates.extend(sizes.iter().map(rate));
            }
        }
        Rates {
            devices,
            members,
            shared: on.iter().any(|d| d.kind.is_concurrent()),
            run: RUN,
            sizes,
            rates,
        }
    }

    /// The same for runs of so many samples.
    #[must_use]
    pub fn over(self, samples: usize) -> Self {
        Rates {
            run: samples,
            ..self
        }
    }

    /// Samples of a run.
    pub fn run(&self) -> usize {
        self.run
    }

    /// Whether any device runs its workers side by side.
    pub fn are_shared(&self) -> bool {
        self.shared
    }

    /// How many rows a matrix has.
    pub fn devices(&self) -> usize {
        self.devices
    }

    /// How many columns a matrix has.
    pub fn members(&self) -> usize {
        self.members
    }

    /// The allowed batch sizes, smallest first.
    pub fn sizes(&self) -> &[BatchSize] {
        &self.sizes
    }

    /// The rate of an entry at batch size number `size`.
    pub fn at(&self, cell: Cell, size: usize) -> Rate {
        let entry = cell.device * self.members + cell.member;
        self.rates[entry * self.sizes.len() + size]
    }

    /// The same as the programme takes it.
    pub fn worker(&self, cell: Cell, size: usize) -> WorkerRate {
        let rate = self.at(cell, size);
        WorkerRate {
            member: cell.member,
            device: cell.device,
            seconds: rate.seconds,
            most: rate.most,
        }
    }

    /// The same as a run takes it.
    pub fn runner(&self, cell: Cell, size: usize) -> Runner {
        Runner {
            rate: self.worker(cell, size),
            latency: self.at(cell, size).latency,
        }
    }

    /// The workers of a matrix of the same frame.
    pub fn workers(&self, matrix: &Matrix) -> Vec<Runner> {
        let size_of = |size: BatchSize| self.sizes.iter().position(|s| *s == size);
        let workers = matrix.workers();
        workers
            .filter_map(|(cell, size)| Some(self.runner(cell, size_of(size)?)))
            .collect()
    }
}

fn rate(costs: &Costs, member: usize, device: usize, rows: usize, slower: f64) -> Rate {
    let alone = costs.alone(member, device, rows);
    let rows = rows as f64;
    let latency = (alone.latency * slower).max(LEAST * rows);
    Rate {
        seconds: (alone.occupied * slower / rows).max(LEAST),
        most: rows / latency,
        latency,
    }
}
