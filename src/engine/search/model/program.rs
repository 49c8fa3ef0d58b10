//! The linear program of a matrix: the largest T such that every member computes T samples per
//! second and no device exceeds its time. It also yields bounds that hold for every matrix,
//! whatever samples wait.

use divisi_model::allocation::{Cell, Frame, Matrix};
use divisi_model::ensemble::BatchSize;
use divisi_model::profile::Costs;
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};

use super::batching::{Batching, EntryCosts, LEAST};
use super::simplex::Simplex;

/// The rate of one worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerRate {
    /// The member.
    pub member: MemberIndex,
    /// The device.
    pub device: DeviceIndex,
    /// Seconds of the whole device per sample, above 0.
    pub seconds: f64,
    /// The most samples per second on a device of its own. A worker runs one batch at a time.
    pub most: f64,
}

/// A linear program with its solution. Neighbours are solved from it in a few steps.
#[derive(Debug, Default)]
pub struct LinearProgram {
    simplex: Simplex,
    /// The samples per second that the solver treats as 1, so that its tolerances are equal for any
    /// network. 0 if a member has no worker.
    unit: f64,
    workers: usize,
}

/// The prices of members and devices as shares of the throughput: an increase by one per cent of
/// something with price 1 raises the throughput by one per cent.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottlenecks {
    /// Prices by member, with sum 1. Cheaper answers of a member with price 0 do not help.
    pub members: Vec<f64>,
    /// Prices by device. More time of a device with price 0 does not help. Their sum is 1 unless a
    /// worker reaches its highest rate.
    pub devices: Vec<f64>,
}

impl LinearProgram {
    /// Solves the linear program of `workers` from scratch.
    pub fn new(members: usize, devices: usize, workers: &[WorkerRate]) -> Self {
        let mut program = LinearProgram {
            unit: unit(members, workers),
            workers: workers.len(),
            ..LinearProgram::default()
        };
        program.solve(members, devices, workers);
        program
    }

    /// Solves the linear program of `workers` from scratch in existing buffers.
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

    /// Returns the samples per second of the whole ensemble.
    pub fn throughput(&self) -> f64 {
        if self.unit == 0.0 {
            return 0.0;
        }
        self.unit * self.simplex.throughput()
    }

    /// Returns the samples per second of worker number `index` at that throughput.
    pub fn rate(&self, index: usize) -> f64 {
        if self.unit == 0.0 {
            return 0.0;
        }
        self.unit * self.simplex.rate(index)
    }

    /// Returns the members and devices that limit the throughput.
    pub fn bottlenecks(&self) -> Bottlenecks {
        let (members, devices) = self.simplex.prices();
        let throughput = self.simplex.throughput().max(f64::MIN_POSITIVE);
        Bottlenecks {
            members: members.to_vec(),
            devices: devices.iter().map(|p| p / throughput).collect(),
        }
    }

    /// Returns whether one more worker could raise the throughput. A change helps only if one of
    /// its added workers does.
    pub fn gains_from(&self, worker: &WorkerRate) -> bool {
        self.simplex.gain_of(&scaled(worker, self.unit)) > GAIN
    }

    /// Returns the throughput without the workers numbered `gone` and with those in `new`, computed
    /// in `scratch` from this solution. Every member must keep a worker.
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

/// A smaller gain is rounding.
const GAIN: f64 = 1e-10;

/// Returns the slowest member's throughput if each worker had its own device, an upper bound of T.
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

/// The fewest seconds per sample and the highest rate of a worker at every entry and batch size.
/// Both hold for any batches of the policy, full or not. A worker need not reach both at once.
#[derive(Clone, Debug)]
pub struct Limits {
    devices: usize,
    members: usize,
    sizes: Vec<BatchSize>,
    /// Device by device, member by member, size by size.
    workers: Vec<WorkerRate>,
}

impl Limits {
    /// Computes limits from `costs`, which are exact for simulated devices and as good as the
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
                // Reuses the costs of the first device of this kind, because each entry takes
                // hundreds of batches to compute.
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

    /// Returns the limits in samples of a mix. `rows` are the rows that each member runs per
    /// sample.
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
        let entry = cell.index_in(self.members);
        self.workers[entry * self.sizes.len() + size]
    }

    /// Returns an upper bound of the samples per second of `matrix`.
    pub fn throughput(&self, matrix: &Matrix) -> f64 {
        let number = |size: BatchSize| self.sizes.iter().position(|s| *s == size);
        let workers = matrix.workers();
        let workers = workers.filter_map(|(cell, size)| Some(self.worker(cell, number(size)?)));
        self.solved(&workers.collect::<Vec<_>>())
    }

    /// Returns an upper bound of the samples per second of all matrices: every entry has a worker
    /// with the best costs among the batch sizes that `fits` (alone), and memory is unlimited.
    /// Returns 0 if a member fits nowhere.
    pub fn bound(&self, fits: impl Fn(Cell, usize) -> bool) -> f64 {
        self.solved(&self.best_workers(fits))
    }

    /// Returns for every entry the fewest seconds and the highest rate of all batch sizes that
    /// `fits`.
    pub fn best_workers(&self, fits: impl Fn(Cell, usize) -> bool) -> Vec<WorkerRate> {
        let cells = Cell::all_cells(self.devices, self.members);
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
