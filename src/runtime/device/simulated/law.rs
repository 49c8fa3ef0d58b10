//! The law by which a simulated device takes time.
//!
//! A fused operation that fills the device takes `max(FLOPs / rate, bytes / bandwidth)`
//! seconds, with a bandwidth for activations and one for weights. A framework that does not
//! fuse moves activations again for every layer that could have been part of another. An
//! operation too small to fill the device takes `grain` seconds, and leaves the units that it
//! does not fill to others. Before each operation its lane spends `launch` seconds, which
//! occupy nothing.

use serde::Serialize;

/// The work of one fused operation, independent of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OpWork {
    /// Floating-point operations for a sample.
    pub flops: f64,
    /// Bytes of activations read and written for a sample.
    pub bytes: f64,
    /// Further bytes for a sample if batch norms, sums and activations are not fused into it.
    pub unfused_bytes: f64,
    /// Bytes of weights, read once for a batch.
    pub weight_bytes: f64,
}

/// One operation of a batch on a device: the time and the units that it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// Seconds with all the units that it asks for.
    pub seconds: f64,
    /// Units that it fills, at least one.
    pub units: u32,
}

/// The numbers of the law by which a device takes time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Law {
    /// Equal parts of the device (a GPU's multiprocessors, a CPU's cores).
    pub units: u32,
    /// FLOP/s of all units.
    pub rate: f64,
    /// Whether batch norms, sums and activations are fused into the operation before.
    pub fuses: bool,
    /// Bytes/s at which activations pass through an operation, with all that the
    /// framework does beside it.
    pub activation_bandwidth: f64,
    /// Bytes/s at which weights are read.
    pub weight_bandwidth: f64,
    /// Seconds below which an operation leaves units free.
    pub grain: f64,
    /// Seconds before each operation, occupying nothing.
    pub launch: f64,
    /// Bytes/s between host and device, each way.
    pub copy_bandwidth: f64,
    /// Seconds of a transfer before its first byte.
    pub copy_latency: f64,
}

impl Law {
    /// Returns the time and the units that `work` takes for a batch of `rows` samples.
    pub fn kernel(&self, work: &OpWork, rows: usize) -> Kernel {
        let rows = rows as f64;
        let flops = work.flops * rows;
        let beside = if self.fuses { 0.0 } else { work.unfused_bytes };
        let moving = (work.bytes + beside) * rows / self.activation_bandwidth
            + work.weight_bytes / self.weight_bandwidth;
        let filled = (flops / self.rate).max(moving);
        if filled >= self.grain {
            return Kernel {
                seconds: filled,
                units: self.units,
            };
        }
        // Units are not divided: one that is filled in part is occupied all the same.
        let wanted = (filled / self.grain * f64::from(self.units)).ceil();
        Kernel {
            seconds: self.grain,
            units: (wanted as u32).clamp(1, self.units),
        }
    }

    /// Returns the seconds that a transfer of `bytes` occupies its copy engine.
    pub fn copy(&self, bytes: u64) -> f64 {
        self.copy_latency + bytes as f64 / self.copy_bandwidth
    }
}

/// The number of a job, chosen by its submitter.
pub type JobId = u64;

/// The units of a device, shared by operations in the order of their start: an earlier
/// operation has all the units that it asks for, as far as there are any; later ones get the
/// rest, and more as units become free.
#[derive(Clone, Debug)]
pub(super) struct Units {
    units: u32,
    active: Vec<Active>,
    /// The time up to which progress is accounted for, in nanoseconds.
    at: u64,
}

#[derive(Clone, Debug)]
struct Active {
    job: JobId,
    units: u32,
    /// Seconds left with all its units.
    left: f64,
    /// Share of its units that it has, from 0 to 1.
    share: f64,
    ends: u64,
}

impl Units {
    /// Creates idle units.
    pub(super) fn new(units: u32) -> Self {
        Units {
            units,
            active: Vec::new(),
            at: 0,
        }
    }

    /// Starts an operation.
    pub(super) fn enter(&mut self, at: u64, job: JobId, kernel: Kernel) {
        self.progress(at);
        self.active.push(Active {
            job,
            units: kernel.units.clamp(1, self.units),
            left: kernel.seconds,
            share: 0.0,
            ends: u64::MAX,
        });
        self.share_out();
    }

    /// Returns the time at which the next operation is done, or `None` if none is under way.
    pub(super) fn next_end(&self) -> Option<u64> {
        self.active.iter().map(|a| a.ends).min()
    }

    /// Removes the operations that are done at `at`, and returns their jobs.
    pub(super) fn take_done(&mut self, at: u64) -> Vec<JobId> {
        if self.next_end().is_none_or(|end| end > at) {
            return Vec::new();
        }
        self.progress(at);
        let done = self.active.extract_if(.., |a| a.ends <= at);
        let done = done.map(|a| a.job).collect();
        self.share_out();
        done
    }

    fn progress(&mut self, at: u64) {
        let passed = at.saturating_sub(self.at) as f64 / 1e9;
        for active in &mut self.active {
            active.left = (active.left - passed * active.share).max(0.0);
        }
        self.at = at;
    }

    fn share_out(&mut self) {
        let mut free = self.units;
        for active in &mut self.active {
            let got = active.units.min(free);
            free -= got;
            active.share = f64::from(got) / f64::from(active.units);
            active.ends = match got {
                0 => u64::MAX,
                _ => self.at.saturating_add(seconds(active.left / active.share)),
            };
        }
    }
}

/// Returns seconds as whole nanoseconds, at least one, so that time always advances.
pub(super) fn seconds(seconds: f64) -> u64 {
    ((seconds * 1e9).ceil() as u64).max(1)
}
