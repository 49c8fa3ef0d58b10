//! The bounds of workers under a batching policy, whatever samples wait: from these follow
//! bounds that no matrix exceeds.

use crate::allocation::{Cell, Frame, Matrix};
use crate::device::Devices;
use crate::ensemble::BatchSize;
use crate::profile::Costs;

use super::batching::{Batching, EntryCosts, LEAST};
use super::program::{Programme, WorkerRate};

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
        for device in 0..devices {
            let kind = &on.get(device).kind;
            let known = (0..device).find(|&d| on.get(d).kind.is_like(kind));
            if let Some(known) = known {
                // Hundreds of batches were worked out for the first of its kind.
                let like = known * a_device..(known + 1) * a_device;
                workers.extend_from_within(like);
                let new = workers.iter_mut().skip(device * a_device);
                new.for_each(|worker| worker.device = device);
                continue;
            }
            for member in 0..members {
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

    /// Returns the bounds of a worker at batch size number `size`.
    pub fn worker(&self, cell: Cell, size: usize) -> WorkerRate {
        let entry = cell.device * self.members + cell.member;
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
        let members = self.members;
        let cells = (0..self.devices)
            .flat_map(|device| (0..members).map(move |member| Cell { device, member }));
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
        Programme::new(self.members, self.devices, workers).throughput()
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
