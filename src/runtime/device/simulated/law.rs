//! The law by which a simulated device takes time.
//!
//! A fused operation takes `max(FLOPs / rate, bytes / bandwidth)` where it fills the
//! device; activations and weights each have a bandwidth. A framework that does not fuse
//! moves activations again for every layer that could have been part of another. One too small for that takes `grain` seconds instead and leaves the units
//! it does not fill to others. Before each operation its lane spends `launch` seconds
//! that occupy nothing.

use serde::Serialize;

/// What one fused operation does, whatever runs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OpWork {
    /// Floating-point operations a sample.
    pub flops: f64,
    /// Bytes of activations read and written a sample.
    pub bytes: f64,
    /// Bytes more where batch norms, sums and activations are not fused into it.
    pub unfused_bytes: f64,
    /// Bytes of weights, read once a batch.
    pub weight_bytes: f64,
}

/// One operation of a batch on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// Seconds it takes with all the units it asks for.
    pub seconds: f64,
    /// Units it fills, at least one.
    pub units: u32,
}

/// The numbers of the law.
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
    /// What `work` is for a batch of `rows`.
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

    /// Seconds that a transfer of `bytes` occupies its engine.
    pub fn copy(&self, bytes: u64) -> f64 {
        self.copy_latency + bytes as f64 / self.copy_bandwidth
    }
}

/// A job's number, chosen by whoever submits it.
pub type JobId = u64;

/// Operations under way: an earlier one has all units it asks for, as far as there
/// are any; later ones get what is left and more as soon as it is free.
#[derive(Clone, Debug)]
pub(super) struct Units {
    units: u32,
    active: Vec<Active>,
    /// Until when progress is accounted for.
    at: u64,
}

#[derive(Clone, Debug)]
struct Active {
    job: JobId,
    units: u32,
    /// Seconds left with all its units.
    left: f64,
    /// Share of its units that it has.
    share: f64,
    ends: u64,
}

impl Units {
    /// Nothing under way.
    pub(super) fn new(units: u32) -> Self {
        Units {
            units,
            active: Vec::new(),
            at: 0,
        }
    }

    /// An operation is ready to run.
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

    /// When the next operation is done.
    pub(super) fn next_end(&self) -> Option<u64> {
        self.active.iter().map(|a| a.ends).min()
    }

    /// Takes out the operations that are done.
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

/// Whole nanoseconds, at least one, so that time always moves on.
pub(super) fn seconds(seconds: f64) -> u64 {
    ((seconds * 1e9).ceil() as u64).max(1)
}
