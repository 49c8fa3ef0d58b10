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
