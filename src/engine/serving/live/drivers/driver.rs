//! The interface between the engine and the drivers: a [`DeviceDriver`] for each device runs
//! batches, and the [`DriverHost`] hands drivers work and takes the results.
//!
//! The engine knows drivers by their trait alone, and drivers know the engine by its trait alone.
//! Only the threads of a driver hold the host, so no cycle of references outlives
//! [`DeviceDriver::stop`].
//!
//! The tensors and the arena of a network are allocated when its worker is built. A batch allocates
//! only its list of ranges.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::serving::batch::{PartKey, Slice, Transfer, WorkerId};
use crate::serving::core::{Core, Next, Stamps};
use crate::serving::events::EngineEvent;
use crate::serving::scheduler::{Discipline, WorkerSpec};
use divisi_model::ensemble::{Ensemble, PolicyKind};
use divisi_model::trace::Span;
use divisi_runtime::compute::ComputeError;
use divisi_runtime::device::DeviceIndex;
use divisi_runtime::device::gpu::{Gauges, GpuError, PinnedBlock, Usage};

use super::super::factory::{BuildError, PredictorFactory};
use super::super::promise::{Panicked, RulePanicked};
use super::super::request::{LiveBatch, LiveNext, LiveOwed, Payload};

/// The served members and the source of their networks.
#[derive(Clone)]
pub(crate) struct ServedNetworks {
    /// The members.
    pub ensemble: Arc<Ensemble>,
    /// Opens devices and builds predictors.
    pub factory: Arc<dyn PredictorFactory>,
}

/// The role of a device in serving, and its possible faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceCapabilities {
    /// The discipline by which it runs its workers' batches.
    pub discipline: Discipline,
    /// Whether it keeps copies of samples in its own memory and frees them as they leave.
    pub keeps_samples: bool,
    /// Whether it computes answers with the members' networks.
    pub computes: bool,
    /// Whether it may fail by itself while the host continues.
    pub may_fail: bool,
    /// Whether an operator can make it disappear or slow it down.
    pub faults_on_demand: bool,
}

impl DeviceCapabilities {
    /// Returns whether the device may be lost for any reason while the host continues.
    pub fn may_be_lost(&self) -> bool {
        self.may_fail || self.faults_on_demand
    }
}

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DeviceFault {
    /// The device is lost with all its work.
    Lost,
    /// Its operations take longer by this factor.
    Slowed(f64),
}

/// The device cannot simulate this fault.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the device cannot simulate this fault")]
pub(crate) struct NoSuchFault;

/// The reason why a device was lost.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LossReason {
    /// An error reported by the driver of a GPU.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// An error reported by another driver.
    #[error("{0}")]
    Other(String),
}

/// The cause of a device's loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LossCause {
    /// The device failed by itself. The listener is notified and moves its workers.
    Failed(LossReason),
    /// A caller removed the device and moves its workers; holds the reason if there is one.
    TakenAway(Option<LossReason>),
}

impl LossCause {
    /// Returns the reason, if there is one.
    pub(crate) fn reason(&self) -> Option<&LossReason> {
        match self {
            LossCause::Failed(reason) => Some(reason),
            LossCause::TakenAway(reason) => reason.as_ref(),
        }
    }
}

/// The reason why a batch was not answered although its device is available.
#[derive(Debug, Error)]
pub(crate) enum BatchError {
    #[error("failed: {0}")]
    Compute(ComputeError),
    /// The network panicked.
    #[error(transparent)]
    Panicked(#[from] Panicked),
    #[error("its worker is missing")]
    NoWorker,
    #[error("its lane is missing")]
    NoLane,
    /// The lane could not be created; holds the reason.
    #[error("{0}")]
    LaneNotMade(String),
}

impl From<ComputeError> for BatchError {
    fn from(error: ComputeError) -> Self {
        BatchError::Compute(error)
    }
}

/// The state of a device as reported by its driver.
#[derive(Clone, Debug)]
pub struct DeviceVitals {
    /// Load, temperature, power.
    pub gauges: Gauges,
    /// Memory in use, or `None` if the driver does not report it.
    pub memory: Option<Usage>,
}

/// Runs the batches of one device's workers in its own threads.
pub(crate) trait DeviceDriver: Send + Sync {
    /// Returns the role of the device. Called once, before the core is created.
    fn capabilities(&self) -> DeviceCapabilities;

    /// Starts serving.
    ///
    /// # Errors
    /// No thread could be started.
    fn start(self: Arc<Self>, host: &Arc<dyn DriverHost>) -> io::Result<()>;

    /// Makes the driver ask the host for work soon.
    fn wake(&self);

    /// Builds a worker. It gets no work until the core knows it. A panic while building counts as
    /// an error.
    ///
    /// # Errors
    /// The device cannot hold the worker, or is lost.
    fn build(
        self: Arc<Self>,
        host: &Arc<dyn DriverHost>,
        spec: WorkerSpec,
    ) -> Result<(), BuildError>;

    /// Removes a worker if it exists. Its memory is free on return, unless the device hangs.
    fn remove(&self, worker: WorkerId);

    /// Injects a fault. A fault that removes the device calls [`DriverHost::lost`].
    ///
    /// # Errors
    /// The device cannot simulate the fault.
    fn inject(
        self: Arc<Self>,
        host: &Arc<dyn DriverHost>,
        fault: DeviceFault,
    ) -> Result<(), NoSuchFault>;

    /// Opens a lost device again, without workers.
    ///
    /// # Errors
    /// The device cannot be opened.
    fn reopen(&self) -> Result<(), BuildError> {
        Ok(())
    }

    /// Returns the reason of the device's loss, or `None` if it is available or its driver reported
    /// no reason.
    fn loss(&self) -> Option<LossReason> {
        None
    }

    /// Returns the state of the device. Queries the hardware, so the caller must not hold a lock.
    fn vitals(&self) -> Option<DeviceVitals> {
        None
    }

    /// Returns page-locked host memory of `floats` values, or `None` if the device cannot provide
    /// it.
    fn pinned(&self, floats: usize) -> Option<PinnedBlock> {
        let _ = floats;
        None
    }

    /// Frees the memory of finished requests ([`DriverHost::departed`]).
    fn sweep(&self, host: &dyn DriverHost) {
        let _ = host;
    }

    /// Ends the threads after the host began to stop. Waits at most `limit` for threads that the
    /// device blocks. A second call does nothing.
    fn stop(&self, limit: Duration);
}

/// The slots of a transfer's samples and its request, or `None` if the request is over.
pub(crate) type TransferPlace = Option<(Slice, Payload)>;

/// A turn of a driver that keeps samples. It is passed under the core's lock, so that memory is
/// freed and taken in the order of the core's decisions.
pub(crate) struct DriverTurn<'a> {
    next: &'a LiveNext,
    departed: &'a [PartKey],
    core: &'a Core<Payload>,
}

impl<'a> DriverTurn<'a> {
    /// Creates a turn in which the parts in `departed` left and `next` is the next work.
    pub(crate) fn new(
        core: &'a Core<Payload>,
        next: &'a LiveNext,
        departed: &'a [PartKey],
    ) -> Self {
        DriverTurn {
            next,
            departed,
            core,
        }
    }

    /// Returns the parts that left since the last turn.
    pub(crate) fn departed(&self) -> &[PartKey] {
        self.departed
    }

    /// Returns the parts to copy ahead, each with its slots in the pool and its request, or `None`
    /// if the request is over.
    pub(crate) fn transfers(&self) -> Vec<(Transfer, TransferPlace)> {
        match self.next {
            Next::Copy(transfers) => transfers
                .iter()
                .map(|&transfer| (transfer, self.core.place_of(transfer.part)))
                .collect(),
            Next::Run(_) | Next::Sleep(_) => Vec::new(),
        }
    }
}

/// A finished batch, with the requests that it completed.
#[must_use = "the clients of these requests wait for an answer"]
pub(crate) struct Completed {
    /// Requests to be answered.
    pub owed: LiveOwed,
    /// The time at which the batch was folded.
    pub at: Duration,
    /// Whether its device has more work.
    pub goes_on: bool,
}

/// The engine from the drivers' perspective.
pub(crate) trait DriverHost: Send + Sync {
    /// Returns the time since the engine's start.
    fn now(&self) -> Duration;

    /// Converts an instant to the time since the engine's start.
    fn time_of(&self, at: Instant) -> Duration;

    /// Returns whether drivers have to end.
    fn is_stopping(&self) -> bool;

    /// Returns the policy in force.
    fn policy(&self) -> PolicyKind;

    /// Reports an event. The caller must not hold a lock.
    fn emit(&self, event: EngineEvent);

    /// Returns the next work for a ready device, and wakes other devices if it leaves work for
    /// them.
    fn next(&self, device: DeviceIndex) -> LiveNext;

    /// Does the same as [`DriverHost::next`] for a device that keeps samples. `place` runs under
    /// the core's lock, so it must be quick and must not free memory.
    fn turn(&self, device: DeviceIndex, place: &mut dyn FnMut(&DriverTurn<'_>)) -> LiveNext;

    /// Passes the parts that left since the last turn to `free` under the core's lock, if there are
    /// any.
    fn departed(&self, device: DeviceIndex, free: &mut dyn FnMut(&[PartKey]));

    /// Reports that a part was copied to a device's memory at `at`, or will not be copied.
    fn copied(&self, device: DeviceIndex, part: PartKey, at: Duration, span: Option<Span>);

    /// Begins folding a batch. Returns `false` if its device was lost earlier: other devices run
    /// its samples, and its answers must be dropped.
    fn begin_folding(&self, batch: &LiveBatch) -> bool;

    /// Takes a batch that was folded at `at` out of execution.
    fn finish(&self, batch: &LiveBatch, stamps: &Stamps, at: Duration) -> Completed;

    /// Does the same as [`DriverHost::finish`] for a device that runs batches side by side. Wakes
    /// devices with new work, and reports whether the device itself has any.
    fn finish_and_wake(&self, batch: &LiveBatch, stamps: &Stamps, at: Duration) -> Completed;

    /// Answers the requests that a batch completed, and records its times.
    fn answer(&self, batch: &LiveBatch, stamps: &Stamps, completed: Completed);

    /// Reports that a batch cannot be folded. Fails its requests, unless they can do without it.
    /// The worker stays.
    fn not_folded(&self, batch: &LiveBatch, why: &RulePanicked);

    /// Reports that a batch did not run. Fails its requests at once, unless they can do without it,
    /// then rebuilds or retires its worker. The caller must not hold a lock, and must not be a
    /// thread that the worker's end waits for.
    fn worker_failed(self: Arc<Self>, batch: &LiveBatch, why: &BatchError);

    /// Reports the loss of a device. Its batches return to the queues, `close` runs, then other
    /// devices are woken and the listener is notified.
    fn lost(&self, device: DeviceIndex, cause: LossCause, close: &mut dyn FnMut());
}
