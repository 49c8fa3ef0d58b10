//! The rates of workers at each entry of a matrix, computed once per search.

use divisi_model::allocation::{Cell, Frame, Matrix};
use divisi_model::ensemble::BatchSize;
use divisi_model::profile::Costs;
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};

use super::batching::{Batching, EntryCosts, LEAST};
use super::program::WorkerRate;

/// The samples of a run: the paper measures over 1 024 (section IV.A). Evaluator `bench` sends
/// them, and evaluator `model` predicts such a run.
pub const RUN: usize = 1024;

/// The rate of one entry at one batch size, while enough samples wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntryRate {
    /// Seconds of the whole device per sample.
    pub seconds: f64,
    /// Samples per second on a device of its own.
    pub most: f64,
    /// Seconds of the largest batch on a device of its own.
    pub latency: f64,
}

/// The rates of every entry at every allowed batch size, under a batching policy.
#[derive(Clone, Debug)]
pub struct Rates {
    devices: usize,
    members: usize,
    shared: bool,
    /// The samples of a run.
    run: usize,
    sizes: Vec<BatchSize>,
    /// Device by device, member by member, size by size.
    rates: Vec<EntryRate>,
}

impl Rates {
    /// Computes rates from `costs`, for batches formed by `batching`.
    pub fn new(frame: &Frame, devices: &Devices, costs: &Costs, batching: Batching) -> Self {
        Rates::slowed(frame, devices, costs, batching, &[])
    }

    /// Computes rates like [`Rates::new`] for devices that are slower by the factors in `slowdown`
    /// (1 if missing).
    pub fn slowed(
        frame: &Frame,
        on: &Devices,
        costs: &Costs,
        batching: Batching,
        slowdown: &[f64],
    ) -> Self {
        let (devices, members) = (frame.devices.len(), frame.members.len());
        let sizes: Vec<BatchSize> = frame.batch_sizes.iter().collect();
        let mut rates = Vec::with_capacity(devices * members * sizes.len());
        for device in DeviceIndex::all(devices) {
            let slower = slowdown
                .get(device.get())
                .copied()
                .unwrap_or(1.0)
                .max(LEAST);
            for member in MemberIndex::all(members) {
                let place = EntryCosts::new(costs, batching, member, device);
                rates.extend(sizes.iter().map(|&size| rate(&place, size, slower)));
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

    /// Returns the rates in samples of a mix. `rows` are the rows that each member runs per sample.
    #[must_use]
    pub fn demanding(mut self, rows: &[f64]) -> Self {
        let sizes = self.sizes.len();
        for (entry, rates) in self.rates.chunks_exact_mut(sizes.max(1)).enumerate() {
            let rows = rows
                .get(entry % self.members.max(1))
                .copied()
                .unwrap_or(1.0);
            for rate in rates {
                rate.seconds = (rate.seconds * rows).max(LEAST);
                rate.most /= rows;
            }
        }
        self
    }

    /// Sets the samples of a run. Returns the previous number.
    pub fn set_run_length(&mut self, samples: usize) -> usize {
        std::mem::replace(&mut self.run, samples)
    }

    /// Returns the rates for runs of `samples`.
    #[must_use]
    pub fn with_run_length(mut self, samples: usize) -> Self {
        self.set_run_length(samples);
        self
    }

    /// Returns the samples of a run.
    pub fn run(&self) -> usize {
        self.run
    }

    /// Returns whether any device runs its workers side by side.
    pub fn are_shared(&self) -> bool {
        self.shared
    }

    /// Returns the number of rows of a matrix.
    pub fn devices(&self) -> usize {
        self.devices
    }

    /// Returns the number of columns of a matrix.
    pub fn members(&self) -> usize {
        self.members
    }

    /// Returns the allowed batch sizes, smallest first.
    pub fn sizes(&self) -> &[BatchSize] {
        &self.sizes
    }

    /// Returns the rate of an entry at batch size number `size`.
    pub fn at(&self, cell: Cell, size: usize) -> EntryRate {
        let entry = cell.index_in(self.members);
        self.rates[entry * self.sizes.len() + size]
    }

    /// Returns that rate in the form of the linear program.
    pub fn worker(&self, cell: Cell, size: usize) -> WorkerRate {
        let rate = self.at(cell, size);
        WorkerRate {
            member: cell.member,
            device: cell.device,
            seconds: rate.seconds,
            most: rate.most,
        }
    }

    /// Returns that rate in the form of a run.
    pub fn runner(&self, cell: Cell, size: usize) -> RunWorker {
        RunWorker {
            rate: self.worker(cell, size),
            latency: self.at(cell, size).latency,
        }
    }

    /// Returns the workers of a matrix of the same frame.
    pub fn workers(&self, matrix: &Matrix) -> Vec<RunWorker> {
        let size_of = |size: BatchSize| self.sizes.iter().position(|s| *s == size);
        let workers = matrix.workers();
        workers
            .filter_map(|(cell, size)| Some(self.runner(cell, size_of(size)?)))
            .collect()
    }
}

/// Returns the rate of all lanes of a worker together. Each lane runs its batches one after
/// another.
fn rate(place: &EntryCosts<'_>, size: BatchSize, slower: f64) -> EntryRate {
    let lanes = place.lanes(size);
    let mut all = EntryRate {
        seconds: 0.0,
        most: 0.0,
        latency: 0.0,
    };
    for &rows in &lanes {
        let turns = place.turns(rows);
        let samples = turns.iter().sum::<usize>() as f64;
        let batches = turns.iter().map(|&rows| place.batch(rows));
        let latency = batches.clone().map(|b| b.latency).sum::<f64>() * slower;
        let occupied = batches.clone().map(|b| b.occupied).sum::<f64>() * slower;
        let rate = samples / latency.max(LEAST * samples);
        // Weighted by the lane's rate: seconds of the device per second.
        all.seconds += rate * occupied / samples;
        all.most += rate;
        let longest = batches.map(|b| b.latency).fold(0.0, f64::max);
        all.latency = all.latency.max(longest * slower);
    }
    let alive = lanes.iter().sum::<usize>() as f64 / place.most_alive();
    all.seconds = match lanes.as_slice() {
        // Uses the exact sum of the batches, so that equal matrices differ by less than rounding.
        [rows] if alive == 0.0 => place.seconds_of_turns(*rows) * slower,
        _ => all.seconds.max(alive) / all.most,
    };
    all.seconds = all.seconds.max(LEAST);
    all
}

/// A worker in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunWorker {
    /// Its rate.
    pub rate: WorkerRate,
    /// Seconds of one batch on a device of its own.
    pub latency: f64,
}
