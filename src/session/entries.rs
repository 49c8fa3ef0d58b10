//! The rows, columns and entries of the matrix as a console draws them: devices, members and
//! workers.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use divisi_engine::serving::Flaws;
use divisi_model::allocation::{Cell, Matrix};
use divisi_model::ensemble::{MemberPrecision, Quality};
use divisi_model::metrics::LatencyView;
use divisi_runtime::device::DeviceIndex;
use divisi_runtime::device::gpu::{Gauges, GpuInfo, Usage};

/// An entry of the matrix: a worker, or no worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EntryView {
    /// The share of the last second that its device spent on it, 0 to 1.
    pub load: f64,
    /// The mean share of their lanes that batches filled in the last second, 0 to 1; 0 without
    /// batches.
    pub fill: f64,
    /// The samples that it has taken and not started.
    pub waiting: usize,
    /// The recent ratio of copying time to computing time.
    pub copying: f64,
    /// The number of batches that it has run.
    pub batches: u64,
    /// The number of restarts.
    pub restarts: u32,
    /// Whether it is no longer restarted because its network panicked too often. Applying a matrix
    /// starts it again.
    pub retired: bool,
    /// The time of its batches relative to undisturbed batches, if the slowdown shows interference.
    pub interfered: Option<f64>,
    /// The latency from arrival to the end of this worker's batches.
    pub latency: LatencyView,
}

/// A device: a row of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceView {
    /// The name of the device.
    pub name: String,
    /// The name of its kind.
    pub kind: String,
    /// Whether an operator may fail or slow down the device.
    pub faults_on_demand: bool,
    /// The share of the last second spent computing, 0 to 1.
    pub busy: f64,
    /// The share of the last second spent copying, 0 to 1. Copies can overlap with computing if the
    /// device has copy engines.
    pub copying: f64,
    /// The bytes booked in its memory space by all devices that share it.
    pub memory_booked: u64,
    /// The size of the memory space in bytes.
    pub memory_bytes: u64,
    /// The first device of the same memory space, if it is another device: partitions of a
    /// processor share the host's memory.
    pub shares_memory_of: Option<DeviceIndex>,
    /// Whether its lanes run in parallel and copies have engines of their own.
    pub side_by_side: bool,
    /// Whether the device failed.
    pub lost: bool,
    /// The reason for the failure, if the driver reported one.
    pub loss: Option<String>,
    /// The GPU and its readings, if the device is a GPU of this machine.
    pub gpu: Option<GpuView>,
    /// The factor by which an operator slowed down its operations.
    pub slowdown: f64,
    /// The maximum number of samples alive under `elastic`, if it was set for the device.
    pub max_inf: Option<NonZeroU32>,
    /// The samples in execution.
    pub alive: usize,
}

/// The properties of a GPU and its latest readings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuView {
    /// The name that the driver reports.
    pub model: String,
    /// The compute capability, `(major, minor)`.
    pub capability: (u32, u32),
    /// The total bytes of its memory, of which less can be booked.
    pub memory_bytes: u64,
    /// The readings of the management library; empty without the library.
    pub gauges: Gauges,
    /// The bytes that this process allocated on the GPU, according to the driver.
    pub used: Option<u64>,
}

impl GpuView {
    /// Creates the view of a GPU from its latest readings.
    pub fn new(info: &GpuInfo, read: Option<(Gauges, Option<Usage>)>) -> Self {
        let (gauges, usage) = read.unwrap_or_default();
        GpuView {
            model: info.name.clone(),
            capability: info.capability,
            memory_bytes: info.memory_bytes,
            gauges,
            used: usage.map(|u| u.used),
        }
    }
}

/// A member: a column of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberView {
    /// The name of the member.
    pub name: String,
    /// The floating-point operations of its network for one sample.
    pub flops: u64,
    /// The number of parameters of its network.
    pub parameters: u64,
    /// Whether its weights are synthetic.
    pub synthetic: bool,
    /// Its precision.
    pub precision: MemberPrecision,
    /// The samples in its queue.
    pub queued: usize,
    /// The recent growth of its queue in samples a second; negative if the queue shrank.
    pub growth: f64,
    /// The recent throughput in samples a second.
    pub samples_per_s: f64,
    /// The throughput in samples a second in each of the last intervals
    /// ([`moment`](crate::ThroughputView::moment)).
    pub series: Vec<f32>,
    /// The latency from arrival to this member's answer.
    pub latency: LatencyView,
    /// Its contribution to the ensemble, or `None` until enough answers were compared.
    pub contribution: Option<MemberContribution>,
    /// The number of its invalid rows.
    pub flaws: Flaws,
}

/// A member's contribution, over a bounded sample of recent answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberContribution {
    /// The number of samples compared.
    pub weighed: u64,
    /// How close its answers are to the ensemble's: a share of samples, an error or a cosine.
    pub agreement: Quality,
    /// How close its answers are to the targets, if targets are known.
    pub quality: Option<Quality>,
    /// The mean distance of its probabilities from the ensemble's (total variation), 0 to 1, or
    /// `None` if members return no class probabilities.
    pub disagreement: Option<f64>,
    /// The mean entropy of its probabilities relative to the maximum, 0 to 1, or `None` if members
    /// return no class probabilities.
    pub entropy: Option<f64>,
    /// Its share of the device time of all members, 0 to 1.
    pub cost: f64,
    /// The share of samples whose class or labels would change without it (or with it, if it does
    /// not vote), 0 to 1. `None` for values and for the only voter.
    pub flips: Option<f64>,
    /// How close the ensemble's answers would stay to the current ones without it (or with it, if
    /// it does not vote), in the measure of `agreement`. `None` for the only voter.
    pub otherwise: Option<f64>,
    /// The change of the ensemble's quality without this member (or with it, if it does not vote),
    /// in the measure of `quality`, if targets are known.
    pub quality_change: Option<f64>,
}

/// A worker that is slower than its profile, and a matrix that would relieve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The device and member of the worker.
    pub cell: Cell,
    /// The time of its batches relative to undisturbed batches.
    pub slowdown: f64,
    /// The matrix that would relieve it.
    pub matrix: Matrix,
}
