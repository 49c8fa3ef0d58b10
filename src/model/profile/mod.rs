//! The costs of a member's batches on a device: by a simulated device's law, or as measured.

mod batch_times;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ensemble::Ensemble;
use divisi_runtime::compute::work;
use divisi_runtime::device::simulated::{Kernel, Law, OpWork};
use divisi_runtime::device::{DeviceIndex, DeviceKind, Devices, MemberIndex};

pub use batch_times::{BatchTimes, Learnt, NotMeasured};

/// The source of one member's costs on one device.
#[derive(Clone, Debug, PartialEq)]
pub enum CellCost {
    /// A simulated device's law over the member's fused operations.
    Law(Law, Arc<[OpWork]>),
    /// Measured times.
    Measured(Arc<BatchTimes>),
    /// A device of this machine without measurements.
    Unknown,
}

/// The cost of one batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchCost {
    /// Bytes copied to the device; 0 if it uses host memory.
    pub copy_in: u64,
    /// Bytes copied back.
    pub copy_out: u64,
    /// Its operations.
    pub kernels: Arc<[Kernel]>,
    /// Seconds of computing if nothing else runs.
    pub computing: f64,
    /// Seconds of the whole device that computing occupies.
    pub occupied: f64,
}

/// The cost of a batch with its device to itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Alone {
    /// The seconds from its start to its end, including copies.
    pub latency: f64,
    /// The seconds of the whole device that it occupies. Other batches can use the rest.
    pub occupied: f64,
}

/// Costs by member and device.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    cells: Vec<Vec<CellCost>>,
    /// Bytes of a sample of each member.
    sample_bytes: Vec<u64>,
    /// The bytes of an answer.
    answer_bytes: u64,
    units: Vec<u32>,
    laws: Vec<Option<Law>>,
    /// Whether batches on each device share the device.
    shared: Vec<bool>,
}

impl Costs {
    /// Returns the costs on simulated devices by their laws. Costs on devices of this machine are
    /// unknown.
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
        let bytes = |shape: divisi_runtime::network::Shape| 4 * shape.elements() as u64;
        Costs {
            cells: cells.collect(),
            sample_bytes: ensemble
                .members
                .iter()
                .map(|m| bytes(m.graph.input()))
                .collect(),
            answer_bytes: 4 * ensemble.answer_width() as u64,
            units: devices
                .iter()
                .map(|d| law(&d.kind).map_or(1, |l| l.units))
                .collect(),
            laws: devices.iter().map(|d| law(&d.kind)).collect(),
            shared: devices.iter().map(|d| d.kind.is_concurrent()).collect(),
        }
    }

    /// Sets the measured times of `member` on `device`.
    pub fn set_measured(
        &mut self,
        member: MemberIndex,
        device: DeviceIndex,
        measured: Arc<BatchTimes>,
    ) {
        self.cells[member][device] = CellCost::Measured(measured);
    }

    /// Returns the source of the costs of `member` on `device`.
    pub fn cell(&self, member: MemberIndex, device: DeviceIndex) -> &CellCost {
        &self.cells[member][device]
    }

    /// Returns whether every cost is known.
    pub fn is_complete(&self) -> bool {
        self.unknown().is_none()
    }

    /// Returns the first member and device whose costs are unknown.
    pub fn unknown(&self) -> Option<(MemberIndex, DeviceIndex)> {
        let mut members = MemberIndex::enumerate(&self.cells);
        members.find_map(|(member, devices)| {
            let device = devices.iter().position(|c| *c == CellCost::Unknown)?;
            Some((member, DeviceIndex::new(device)))
        })
    }

    /// Takes unknown costs from `other`, which must have the same ensemble and devices.
    pub fn fill_from(&mut self, other: &Costs) {
        let cells = self.cells.iter_mut().flatten();
        for (cell, other) in cells.zip(other.cells.iter().flatten()) {
            if *cell == CellCost::Unknown {
                cell.clone_from(other);
            }
        }
    }

    /// Returns the costs with measured times multiplied by `pace`, which is above 0. Times that
    /// would be 0 or infinite stay unchanged.
    #[must_use]
    pub fn at_pace(&self, pace: f64) -> Costs {
        let mut paced = self.clone();
        for cell in paced.cells.iter_mut().flatten() {
            if let CellCost::Measured(times) = cell
                && let Ok(now) = times.at_pace(pace)
            {
                *cell = CellCost::Measured(Arc::new(now));
            }
        }
        paced
    }

    /// Returns the costs with another device as the last one, of the same costs as `device`.
    #[must_use]
    pub fn with_one_like(&self, device: DeviceIndex) -> Costs {
        let mut more = self.clone();
        for cells in &mut more.cells {
            cells.push(cells[device.get()].clone());
        }
        more.units.push(self.units[device.get()]);
        more.laws.push(self.laws[device.get()]);
        more.shared.push(self.shared[device.get()]);
        more
    }

    /// Returns the costs without those of `member`.
    #[must_use]
    pub fn without_member(&self, member: MemberIndex) -> Costs {
        let mut fewer = self.clone();
        fewer.cells.remove(member.get());
        fewer.sample_bytes.remove(member.get());
        fewer
    }

    /// Returns the law of a device, if it is simulated.
    pub fn law(&self, device: DeviceIndex) -> Option<Law> {
        self.laws[device]
    }

    /// Returns whether batches on a device leave unused capacity to others.
    pub fn is_shared(&self, device: DeviceIndex) -> bool {
        self.shared[device]
    }

    /// Returns the bytes of a sample of `member`.
    pub fn sample_bytes(&self, member: MemberIndex) -> u64 {
        self.sample_bytes[member]
    }

    /// Returns the cost of a batch of `rows` of `member` on `device`, or 0 if it is unknown.
    pub fn batch(&self, member: MemberIndex, device: DeviceIndex, rows: usize) -> BatchCost {
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

    fn kernels(&self, member: MemberIndex, device: DeviceIndex, rows: usize) -> Arc<[Kernel]> {
        match &self.cells[member][device] {
            CellCost::Law(law, work) => work.iter().map(|op| law.kernel(op, rows)).collect(),
            CellCost::Measured(measured) => Arc::new([Kernel {
                seconds: measured.seconds(rows),
                units: self.units[device],
            }]),
            CellCost::Unknown => Arc::new([]),
        }
    }

    /// Returns the cost of a batch of `rows` of `member` with `device` to itself.
    pub fn alone(&self, member: MemberIndex, device: DeviceIndex, rows: usize) -> Alone {
        let batch = self.batch(member, device, rows);
        let copy_in = self.copy(device, batch.copy_in);
        self.undisturbed(device, &batch, copy_in)
    }

    /// As [`Costs::alone`], for samples that were already copied to the device.
    pub fn alone_copied(&self, member: MemberIndex, device: DeviceIndex, rows: usize) -> Alone {
        let batch = self.batch(member, device, rows);
        self.undisturbed(device, &batch, 0.0)
    }

    fn undisturbed(&self, device: DeviceIndex, batch: &BatchCost, copy_in: f64) -> Alone {
        let latency = copy_in + batch.computing + self.copy(device, batch.copy_out);
        Alone {
            latency,
            occupied: match self.shared[device] {
                true => batch.occupied,
                false => latency,
            },
        }
    }

    fn copy(&self, device: DeviceIndex, bytes: u64) -> f64 {
        self.laws[device].map_or(0.0, |law| law.copy(bytes))
    }
}

/// A cache of batch costs, for drivers that repeat the same requests.
#[derive(Debug, Default)]
pub struct KernelCache {
    known: HashMap<(MemberIndex, DeviceIndex, usize), BatchCost>,
}

/// The maximum number of remembered batches.
const MOST_KNOWN: usize = 1 << 16;

impl KernelCache {
    /// Returns the cost as [`Costs::batch`] does.
    pub fn batch(
        &mut self,
        costs: &Costs,
        member: MemberIndex,
        device: DeviceIndex,
        rows: usize,
    ) -> BatchCost {
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        let known = self.known.entry((member, device, rows));
        known
            .or_insert_with(|| costs.batch(member, device, rows))
            .clone()
    }
}
