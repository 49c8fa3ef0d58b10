//! The linear program of a matrix: the largest T such that every member gets T samples a
//! second and no device is asked for more than its time. From it follow, whatever samples wait,
//! bounds that no matrix exceeds.

use divisi_model::allocation::{Cell, Frame, Matrix};
use divisi_model::ensemble::BatchSize;
use divisi_model::profile::Costs;
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};

use super::batching::{Batching, EntryCosts, LEAST};
use super::simplex::Simplex;

/// The rate of one worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerRate {
    /// Its member.
    pub member: MemberIndex,
    /// Its device.
    pub device: DeviceIndex,
    /// Seconds of its whole device that a sample takes, above 0.
    pub seconds: f64,
    /// Samples a second at most, were the device its own: it runs a batch at a time.
    pub most: f64,
}

/// A linear program and its solution, from which neighbours are solved in a few steps.
#[derive(Debug, Default)]
pub struct LinearProgram {
    simplex: Simplex,
    /// Samples a second that the solver calls 1, so that its tolerances mean the same
    /// for any network; 0 where a member has no worker.
    unit: f64,
    workers: usize,
}

/// The prices of members and devices as shares of the throughput: one per cent more of
/// something with price 1 brings one per cent more throughput.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottlenecks {
    /// By member; they sum up to 1. Cheaper answers of a member at 0 help nothing.
    pub members: Vec<f64>,
    /// By device: more time of a device at 0 helps nothing. They sum up to 1 unless a
    /// worker is as fast as it can be with its device to itself.
    pub devices: Vec<f64>,
}

impl LinearProgram {
    /// Solves the linear program of `workers` from nothing.
    pub fn new(members: usize, devices: usize, workers: &[WorkerRate]) -> Self {
        let mut program = LinearProgram {
            unit: unit(members, workers),
            workers: workers.len(),
            ..LinearProgram::default()
        };
        program.solve(members, devices, workers);
        program
    }

    /// The same, in the memory of an earlier one.
    pub fn renew(&mut self, members: usize, devices: usize, workers: &[WorkerRate]) {
        self.unit = unit(members, workers);
        self.workers = workers.len();
        self.solve(members, devices, workers);
    }

    fn solve(&mut self, members: usize, devices: usize, workers: &[WorkerRate]) {
        if self.unit == 0.0 {
            return;
        }
        self.simplex.begin(members, devices, &[]);
        for worker in workers {
            self.simplex.add(scaled(worker, self.unit));
        }
        self.simplex.optimise();
    }

    /// Returns the samples a second of the whole ensemble.
    pub fn throughput(&self) -> f64 {
        if self.unit == 0.0 {
            return 0.0;
        }
        self.unit * self.simplex.throughput()
    }

    /// Returns the samples a second of worker number `index` at that throughput.
    pub fn rate(&self, index: usize) -> f64 {
        if self.unit == 0.0 {
            return 0.0;
        }
        self.unit * self.simplex.rate(index)
    }

    /// Returns the members and devices that bound the throughput.
    pub fn bottlenecks(&self) -> Bottlenecks {
        let (members, devices) = self.simplex.prices();
        let throughput = self.simplex.throughput().max(f64::MIN_POSITIVE);
        Bottlenecks {
            members: members.to_vec(),
            devices: devices.iter().map(|p| p / throughput).collect(),
        }
    }

    /// Whether one more worker could raise the throughput. If none of the workers that a
    /// change adds can, the change cannot either.
    pub fn gains_from(&self, worker: &WorkerRate) -> bool {
        self.simplex.gain_of(&scaled(worker, self.unit)) > GAIN
    }

    /// Throughput without the workers numbered `gone` and with those in `new`, worked
    /// out in `scratch` from this solution. The members left bare must be none.
    pub fn changed(&self, scratch: &mut Self, gone: &[usize], new: &[WorkerRate]) -> f64 {
        scratch.unit = self.unit;
        scratch.workers = self.workers + new.len();
        scratch.simplex.clone_from(&self.simplex);
        for worker in new {
            scratch.simplex.add(scaled(worker, self.unit));
        }
        for &worker in gone {
            scratch.simplex.charge(worker);
        }
        scratch.simplex.optimise();
        scratch.throughput()
    }
}

/// A worth below this is rounding.
const GAIN: f64 = 1e-10;

/// The slowest member's throughput were all devices its own: T is that at most.
fn unit(members: usize, workers: &[WorkerRate]) -> f64 {
    let mut alone = vec![0.0; members];
    for worker in workers {
        alone[worker.member] += worker.most.min(1.0 / worker.seconds);
    }
    let slowest = alone.into_iter().fold(f64::INFINITY, f64::min);
    if slowest.is_finite() { slowest } else { 0.0 }
}

fn scaled(worker: &WorkerRate, unit: f64) -> WorkerRate {
    WorkerRate {
        seconds: worker.seconds * unit,
        most: worker.most / unit,
        ..*worker
    }
}

/// The least seconds and the highest rate of a worker at every entry and batch size.
/// Both hold for any batches that the policy forms, full ones or not; a worker need not
/// have both at once.
#[derive(Clone, Debug)]
pub struct Limits {
    devices: usize,
    members: usize,
    sizes: Vec<BatchSize>,
    /// Device by device, member by member, size by size.
    workers: Vec<WorkerRate>,
}

impl Limits {
    /// Limits by `costs`, which are exact for simulated devices and as good as their
    /// profiles for others.
    pub fn new(frame: &Frame, on: &Devices, costs: &Costs, batching: Batching) -> Self {
        let (devices, members) = (frame.devices.len(), frame.members.len());
        let sizes: Vec<BatchSize> = frame.batch_sizes.iter().collect();
        let mut workers: Vec<WorkerRate> = Vec::with_capacity(devices * members * sizes.len());
        let a_device = members * sizes.len();
        for device in DeviceIndex::all(devices) {
            let kind = &on.get(device).kind;
            let known = DeviceIndex::all(device.get()).find(|&d| on.get(d).kind.is_like(kind));
            if let Some(known) = known {
                // Hundreds of batches were worked out for the first of its kind.
                let like = known.get() * a_device..(known.get() + 1) * a_device;
                workers.extend_from_within(like);
                let new = workers.iter_mut().skip(device.get() * a_device);
                new.for_each(|worker| worker.device = device);
                continue;
            }
            for member in MemberIndex::all(members) {
                let place = EntryCosts::new(costs, batching, member, device);
                workers.extend(sizes.iter().map(|&size| at_best(&place, size)));
            }
        }
        Limits {
            devices,
            members,
            sizes,
            workers,
        }
    }

    /// Returns the limits in samples of a mix, of each of which a member runs so many rows.
    #[must_use]
    pub fn demanding(mut self, rows: &[f64]) -> Self {
        for worker in &mut self.workers {
            let rows = rows.get(worker.member.get()).copied().unwrap_or(1.0);
            worker.seconds = (worker.seconds * rows).max(LEAST);
            worker.most /= rows;
        }
        self
    }

    /// Returns the bounds of a worker at batch size number `size`.
    pub fn worker(&self, cell: Cell, size: usize) -> WorkerRate {
        let entry = cell.place(self.members);
        self.workers[entry * self.sizes.len() + size]
    }

    /// Returns the samples a second that `matrix` does not exceed.
    pub fn throughput(&self, matrix: &Matrix) -> f64 {
        let number = |size: BatchSize| self.sizes.iter().position(|s| *s == size);
        let workers = matrix.workers();
        let workers = workers.filter_map(|(cell, size)| Some(self.worker(cell, number(size)?)));
        self.solved(&workers.collect::<Vec<_>>())
    }

    /// Samples a second that no matrix exceeds: every entry has a worker as cheap a
    /// sample and as fast as at the best of the batch sizes that `fits` (alone), and
    /// memory holds them all. 0 where a member fits nowhere.
    pub fn bound(&self, fits: impl Fn(Cell, usize) -> bool) -> f64 {
        self.solved(&self.best_workers(fits))
    }

    /// At every entry the least seconds and the highest rate of any batch size that
    /// `fits`.
    pub fn best_workers(&self, fits: impl Fn(Cell, usize) -> bool) -> Vec<WorkerRate> {
        let cells = Cell::all(self.devices, self.members);
        let best = |cell: Cell| {
            let sizes = (0..self.sizes.len()).filter(|&size| fits(cell, size));
            let workers = sizes.map(|size| self.worker(cell, size));
            workers.reduce(|a, b| WorkerRate {
                seconds: a.seconds.min(b.seconds),
                most: a.most.max(b.most),
                ..a
            })
        };
        cells.filter_map(best).collect()
    }

    fn solved(&self, workers: &[WorkerRate]) -> f64 {
        LinearProgram::new(self.members, self.devices, workers).throughput()
    }
}

fn at_best(place: &EntryCosts<'_>, size: BatchSize) -> WorkerRate {
    let rows = place.rows(size).into_iter();
    let seconds = rows.map(|rows| place.batch(rows).occupied / rows as f64);
    WorkerRate {
        member: place.member,
        device: place.device,
        seconds: seconds.fold(f64::INFINITY, f64::min).max(LEAST),
        most: place.fastest(size),
    }
}
