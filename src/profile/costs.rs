//! Costs of every member on every device.

use std::collections::HashMap;
use std::sync::Arc;

use crate::compute::work;
use crate::device::simulated::{Kernel, Law, OpWork};
use crate::device::{DeviceKind, Devices};
use crate::ensemble::Ensemble;

use super::batch_times::BatchTimes;

/// Where one member's costs on one device come from.
#[derive(Clone, Debug, PartialEq)]
pub enum CellCost {
    /// A simulated device's law over the member's fused operations.
    Law(Law, Arc<[OpWork]>),
    Measured(Arc<BatchTimes>),
    /// A device of this machine on which nothing was measured yet.
    Unknown,
}

/// What one batch costs.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchCost {
    /// Bytes copied to the device and back; 0 where it uses host memory.
    pub copy_in: u64,
    pub copy_out: u64,
    pub kernels: Arc<[Kernel]>,
    /// Seconds that computing takes undisturbed.
    pub computing: f64,
    /// Seconds of the whole device that computing occupies.
    pub occupied: f64,
}

/// A batch with its device to itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Alone {
    /// Seconds from its start to its end, copies included.
    pub latency: f64,
    /// Seconds of the whole device that it occupies; what is left, others can use.
    pub occupied: f64,
}

/// Costs by member and device.
#[derive(Clone, Debug)]
pub struct Costs {
    cells: Vec<Vec<CellCost>>,
    /// Bytes of a sample of each member, and of an answer.
    sample_bytes: Vec<u64>,
    answer_bytes: u64,
    units: Vec<u32>,
    laws: Vec<Option<Law>>,
    /// Whether batches leave what they do not fill to others.
    shared: Vec<bool>,
}

impl Costs {
    /// Simulated devices by their laws; devices of this machine are unknown yet.
    pub fn of_laws(ensemble: &Ensemble, devices: &Devices) -> Self {
        let law = |kind: &DeviceKind| kind.profile().map(|p| p.law);
        let cells = ensemble.members.iter().map(|member| {
            let work: Arc<[OpWork]> = work(&member.graph).into();
            let cell = |kind: &DeviceKind| match law(kind) {
                Some(law) => CellCost::Law(law, Arc::clone(&work)),
                None => CellCost::Unknown,
            };
            devices.iter().map(|d| cell(&d.kind)).collect()
        });
        let bytes = |shape: crate::network::Shape| 4 * shape.elements() as u64;
        Costs {
            cells: cells.collect(),
            sample_bytes: ensemble
                .members
                .iter()
                .map(|m| bytes(m.graph.input()))
                .collect(),
            answer_bytes: 4 * ensemble.classes as u64,
            units: devices
                .iter()
                .map(|d| law(&d.kind).map_or(1, |l| l.units))
                .collect(),
            laws: devices.iter().map(|d| law(&d.kind)).collect(),
            shared: devices.iter().map(|d| d.kind.is_concurrent()).collect(),
        }
    }

    /// What was measured of `member` on `device`.
    pub fn set_measured(&mut self, member: usize, device: usize, measured: Arc<BatchTimes>) {
        self.cells[member][device] = CellCost::Measured(measured);
    }

    /// Where the costs of `member` on `device` come from.
    pub fn cell(&self, member: usize, device: usize) -> &CellCost {
        &self.cells[member][device]
    }

    /// Whether every cost is known.
    pub fn is_complete(&self) -> bool {
        self.unknown().is_none()
    }

    /// The first member and device of which nothing is known.
    pub fn unknown(&self) -> Option<(usize, usize)> {
        let mut members = self.cells.iter().enumerate();
        members.find_map(|(member, devices)| {
            let device = devices.iter().position(|c| *c == CellCost::Unknown)?;
            Some((member, device))
        })
    }

    /// Takes from `other`, of the same ensemble and devices, what is not known here.
    pub fn fill_from(&mut self, other: &Costs) {
        let cells = self.cells.iter_mut().flatten();
        for (cell, other) in cells.zip(other.cells.iter().flatten()) {
            if *cell == CellCost::Unknown {
                cell.clone_from(other);
            }
        }
    }

    /// The law of a simulated device.
    pub fn law(&self, device: usize) -> Option<Law> {
        self.laws[device]
    }

    /// Whether batches on a device leave what they do not fill to others.
    pub fn is_shared(&self, device: usize) -> bool {
        self.shared[device]
    }

    /// Bytes of a sample of `member`.
    pub fn sample_bytes(&self, member: usize) -> u64 {
        self.sample_bytes[member]
    }

    /// A batch of `rows` of `member` on `device`; free where nothing is known.
    pub fn batch(&self, member: usize, device: usize, rows: usize) -> BatchCost {
        let copies = |bytes: u64| match self.laws[device] {
            Some(_) => bytes * rows as u64,
            None => 0,
        };
        let kernels = self.kernels(member, device, rows);
        let launch = self.laws[device].map_or(0.0, |law| law.launch);
        let units = f64::from(self.units[device]);
        let of_device = |k: &Kernel| k.seconds * f64::from(k.units) / units;
        BatchCost {
            copy_in: copies(self.sample_bytes[member]),
            copy_out: copies(self.answer_bytes),
            computing: kernels.iter().map(|k| k.seconds + launch).sum(),
            occupied: kernels.iter().map(of_device).sum(),
            kernels,
        }
    }

    fn kernels(&self, member: usize, device: usize, rows: usize) -> Arc<[Kernel]> {
        match &self.cells[member][device] {
            CellCost::Law(law, work) => work.iter().map(|op| law.kernel(op, rows)).collect(),
            CellCost::Measured(measured) => Arc::new([Kernel {
                seconds: measured.seconds(rows),
                units: self.units[device],
            }]),
            CellCost::Unknown => Arc::new([]),
        }
    }

    /// A batch of `rows` of `member` with `device` to itself.
    pub fn alone(&self, member: usize, device: usize, rows: usize) -> Alone {
        let batch = self.batch(member, device, rows);
        let copy_in = self.copy(device, batch.copy_in);
        self.undisturbed(device, &batch, copy_in)
    }

    /// The same where its samples were copied to the device before.
    pub fn alone_copied(&self, member: usize, device: usize, rows: usize) -> Alone {
        let batch = self.batch(member, device, rows);
        self.undisturbed(device, &batch, 0.0)
    }

    fn undisturbed(&self, device: usize, batch: &BatchCost, copy_in: f64) -> Alone {
        let latency = copy_in + batch.computing + self.copy(device, batch.copy_out);
        Alone {
            latency,
            occupied: match self.shared[device] {
                true => batch.occupied,
                false => latency,
            },
        }
    }

    fn copy(&self, device: usize, bytes: u64) -> f64 {
        self.laws[device].map_or(0.0, |law| law.copy(bytes))
    }
}

/// Batches already worked out, for a driver that asks again and again.
#[derive(Debug, Default)]
pub struct KernelCache {
    known: HashMap<(usize, usize, usize), BatchCost>,
}

/// Batches remembered at most; more than that many sizes do not come up.
const MOST_KNOWN: usize = 1 << 16;

impl KernelCache {
    /// As [`Costs::batch`].
    pub fn batch(&mut self, costs: &Costs, member: usize, device: usize, rows: usize) -> BatchCost {
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        let known = self.known.entry((member, device, rows));
        known
            .or_insert_with(|| costs.batch(member, device, rows))
            .clone()
    }
}
