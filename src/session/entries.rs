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

/// One entry: a worker, or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EntryView {
    /// Share of the last second its device spent on it, 0 to 1.
    pub load: f64,
    /// Mean share of their lanes that batches of the last second filled, 0 to 1; 0
    /// where there were none.
    pub fill: f64,
    /// Samples that it has taken and not started.
    pub waiting: usize,
    /// Seconds spent copying over seconds spent computing, lately.
    pub copying: f64,
    /// Batches that it has run.
    pub batches: u64,
    /// Times that it was started again.
    pub restarts: u32,
    /// Its network panicked so often that it is not started again; applying a matrix
    /// brings it back.
    pub retired: bool,
    /// Time its batches take over what they take undisturbed, where that is so much
    /// that it suffers from others or from its device.
    pub interfered: Option<f64>,
    /// From arrival to the end of this worker's batches.
    pub latency: LatencyView,
}

/// One device: a row of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceView {
    /// The name of the device.
    pub name: String,
    /// The name of its kind.
    pub kind: String,
    /// Whether an operator may let it disappear or grow slow.
    pub faults_on_demand: bool,
    /// Share of the last second it computed, 0 to 1.
    pub busy: f64,
    /// Share of the last second it copied, 0 to 1; where copies have engines of their
    /// own this may pass beside computing.
    pub copying: f64,
    /// Booked in its memory space, by all devices of the space together.
    pub memory_booked: u64,
    /// Bytes of the memory space.
    pub memory_bytes: u64,
    /// The first device of the same memory space, where that is another one: partitions of
    /// a processor share the host's memory.
    pub shares_memory_of: Option<DeviceIndex>,
    /// Its lanes run side by side, and copies have engines of their own.
    pub side_by_side: bool,
    /// It disappeared.
    pub lost: bool,
    /// Why, where its driver said so.
    pub loss: Option<String>,
    /// The GPU and its readings, where the device is a GPU of this machine.
    pub gpu: Option<GpuView>,
    /// Its operations take so many times as long, by an operator's wish.
    pub slowdown: f64,
    /// Samples alive at most under `elastic`, where it was set for the device.
    pub max_inf: Option<NonZeroU32>,
    /// Samples in execution.
    pub alive: usize,
}

/// The properties of a GPU and its latest readings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuView {
    /// As the driver names it.
    pub model: String,
    /// Compute capability, `(major, minor)`.
    pub capability: (u32, u32),
    /// Bytes of its memory, all of it; what may be booked is less.
    pub memory_bytes: u64,
    /// As the management library says; nothing where it is not there.
    pub gauges: Gauges,
    /// Bytes that this process allocated there, as the driver counts.
    pub used: Option<u64>,
}

impl GpuView {
    /// A GPU and what was read of it lately.
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

/// One member: a column of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberView {
    /// The name of the member.
    pub name: String,
    /// Floating-point operations of its network for one sample.
    pub flops: u64,
    /// Number of parameters of its network.
    pub parameters: u64,
    /// Whether its weights are made up.
    pub synthetic: bool,
    /// The numbers that it is computed in.
    pub precision: MemberPrecision,
    /// Samples waiting in its queue.
    pub queued: usize,
    /// Samples a second that the queue grew by over the last seconds; below zero it
    /// shrank.
    pub growth: f64,
    /// Samples answered a second, lately.
    pub samples_per_s: f64,
    /// Samples a second in each of the last moments ([`ThroughputView::moment`]).
    pub series: Vec<f32>,
    /// From arrival to this member's answer.
    pub latency: LatencyView,
    /// Its contribution to the ensemble; `None` while too few answers were weighed.
    pub contribution: Option<MemberContribution>,
    /// Its rows that were not what they should be.
    pub flaws: Flaws,
}

/// Over the answers that were weighed: a bounded sample of those given lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberContribution {
    /// Samples weighed.
    pub weighed: u64,
    /// How alike its answers are to the ensemble's: a share of samples, an error or a cosine.
    pub agreement: Quality,
    /// How near its answers are to the targets, where those are known.
    pub quality: Option<Quality>,
    /// Mean distance of its probabilities from the ensemble's (total variation), 0 to 1;
    /// none where members return no probabilities of classes.
    pub disagreement: Option<f64>,
    /// Mean entropy of its probabilities, over the most there can be, 0 to 1; likewise.
    pub entropy: Option<f64>,
    /// Share of all members' device time that it took, 0 to 1.
    pub cost: f64,
    /// Share of samples whose answer would be another class or other labels without it (with
    /// it, where it does not vote), 0 to 1; none for values, and for the only voter.
    pub flips: Option<f64>,
    /// How alike the ensemble's answers would be to those of now without it (likewise), in
    /// the measure of `agreement`; none for the only voter.
    pub otherwise: Option<f64>,
    /// Change of the ensemble's quality without this member (likewise), in the measure of
    /// `quality`, where targets are known.
    pub quality_change: Option<f64>,
}

/// A worker that is slower than its profile says, and a matrix that would relieve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The device and the member of the worker.
    pub cell: Cell,
    /// Time its batches take over what they take undisturbed.
    pub slowdown: f64,
    /// The matrix that would relieve it.
    pub matrix: Matrix,
}
