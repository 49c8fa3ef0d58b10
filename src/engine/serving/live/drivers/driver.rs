//! The interface between the engine and the drivers: a [`DeviceDriver`] for each device runs
//! batches, and the [`DriverHost`] gives drivers work and takes the results.
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

/// The networks that are served: members, and where their networks come from.
#[derive(Clone)]
pub(crate) struct ServedNetworks {
    /// The members.
    pub ensemble: Arc<Ensemble>,
    /// Opens devices and builds predictors for them.
    pub factory: Arc<dyn PredictorFactory>,
}

/// How a device takes part in serving, and which faults it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceCapabilities {
    /// How it runs the batches of its workers.
    pub discipline: Discipline,
    /// It keeps copies of samples in memory of its own, and frees them as they leave.
    pub keeps_samples: bool,
    /// Its answers are computed by the members' networks.
    pub computes: bool,
    /// It may stop working by itself while the host goes on.
    pub may_fail: bool,
    /// An operator may let it disappear or grow slow.
    pub faults_on_demand: bool,
}

impl DeviceCapabilities {
    /// Whether it may be gone while the host goes on, for whatever reason.
    pub fn may_be_lost(&self) -> bool {
        self.may_fail || self.faults_on_demand
    }
}

/// A fault that is provoked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DeviceFault {
    /// The device is gone, with all it was doing.
    Lost,
    /// Its operations take so many times as long.
    Slowed(f64),
}

/// The device cannot pretend that fault.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the device cannot simulate this fault")]
pub(crate) struct NoSuchFault;

/// Why a device is gone.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LossReason {
    /// The driver of a GPU said so.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// Another driver said so.
    #[error("{0}")]
    Other(String),
}

/// How a device got lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LossCause {
    /// It stopped working by itself: whoever listens is told, and moves its workers.
    Failed(LossReason),
    /// It was taken away by somebody who moves its workers; what there is to say of it.
    TakenAway(Option<LossReason>),
}

impl LossCause {
    /// Returns what there is to say of it.
    pub(crate) fn reason(&self) -> Option<&LossReason> {
        match self {
            LossCause::Failed(reason) => Some(reason),
            LossCause::TakenAway(reason) => reason.as_ref(),
        }
    }
}

/// Why a batch was not answered although its device is there.
#[derive(Debug, Error)]
pub(crate) enum BatchError {
    #[error("failed: {0}")]
    Compute(ComputeError),
    /// Its network panicked.
    #[error(transparent)]
    Panicked(#[from] Panicked),
    #[error("its worker is missing")]
    NoWorker,
    #[error("its lane is missing")]
    NoLane,
    /// Its lane could not be made; why.
    #[error("{0}")]
    LaneNotMade(String),
}

impl From<ComputeError> for BatchError {
    fn from(error: ComputeError) -> Self {
        BatchError::Compute(error)
    }
}

/// How a device is doing, as its own driver counts it.
#[derive(Clone, Debug)]
pub struct DeviceVitals {
    /// Load, temperature, power.
    pub gauges: Gauges,
    /// Memory in use, if the driver tells.
    pub memory: Option<Usage>,
}

/// Runs the batches of one device's workers, in threads of its own.
pub(crate) trait DeviceDriver: Send + Sync {
    /// How the device takes part. Asked once, before the core is made.
    fn capabilities(&self) -> DeviceCapabilities;

    /// Starts to serve.
    ///
    /// # Errors
    /// The system has no thread left.
    fn start(self: Arc<Self>, host: &Arc<dyn DriverHost>) -> io::Result<()>;

    /// Asks the host again soon: there may be something to do.
    fn wake(&self);

    /// Builds a worker; it serves nobody until the core knows it. A panic while it is built
    /// is an error like others.
    ///
    /// # Errors
    /// The device cannot hold it, or is gone.
    fn build(
        self: Arc<Self>,
        host: &Arc<dyn DriverHost>,
        spec: WorkerSpec,
    ) -> Result<(), BuildError>;

    /// Removes a worker, if it is there. Its memory is free on return, unless it hangs.
    fn remove(&self, worker: WorkerId);

    /// Provokes a fault; one that takes the device away tells [`DriverHost::lost`].
    ///
    /// # Errors
    /// The device has no such fault.
    fn inject(
        self: Arc<Self>,
        host: &Arc<dyn DriverHost>,
        fault: DeviceFault,
    ) -> Result<(), NoSuchFault>;

    /// Makes a lost device work again, with nobody on it.
    ///
    /// # Errors
    /// It does not come back.
    fn reopen(&self) -> Result<(), BuildError> {
        Ok(())
    }

    /// Returns why the device is gone, while it is and where its driver said so.
    fn loss(&self) -> Option<LossReason> {
        None
    }

    /// Returns how the device is doing. It asks the hardware: call it under no lock.
    fn vitals(&self) -> Option<DeviceVitals> {
        None
    }

    /// Returns page-locked host memory of so many values, where the device has some to lend.
    fn pinned(&self, floats: usize) -> Option<PinnedBlock> {
        let _ = floats;
        None
    }

    /// Frees what it keeps for requests that are over ([`DriverHost::departed`]).
    fn sweep(&self, host: &dyn DriverHost) {
        let _ = host;
    }

    /// Ends its threads, once the host is stopping. Threads that the device holds are waited
    /// for no longer than `limit`. A second call does nothing.
    fn stop(&self, limit: Duration);
}

/// Where the samples of a transfer lie, and their request; `None` where that is over.
pub(crate) type TransferPlace = Option<(Slice, Payload)>;

/// A turn as a driver that keeps samples sees it, under the core's lock: places are
/// given back and taken in the order in which the core decided.
pub(crate) struct DriverTurn<'a> {
    next: &'a LiveNext,
    departed: &'a [PartKey],
    core: &'a Core<Payload>,
}

impl<'a> DriverTurn<'a> {
    /// A turn in which `departed` parts left and `next` is to be done.
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

    /// Parts that left since the last turn.
    pub(crate) fn departed(&self) -> &[PartKey] {
        self.departed
    }

    /// Parts to be copied ahead, each with its place in the pool and its request; none where that
    /// is over.
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

/// A batch that is out of execution, with the requests that are complete by it.
#[must_use = "the clients of these requests wait for an answer"]
pub(crate) struct Completed {
    /// Requests to be answered.
    pub owed: LiveOwed,
    /// When the batch was folded.
    pub at: Duration,
    /// Its own device can go on with something else.
    pub goes_on: bool,
}

/// The engine as drivers see it.
pub(crate) trait DriverHost: Send + Sync {
    /// Returns the time since the engine's start.
    fn now(&self) -> Duration;

    /// Returns when an instant was, counted from the engine's start.
    fn time_of(&self, at: Instant) -> Duration;

    /// Whether drivers should end.
    fn is_stopping(&self) -> bool;

    /// Returns the policy in force.
    fn policy(&self) -> PolicyKind;

    /// Reports an event. No lock may be held.
    fn emit(&self, event: EngineEvent);

    /// Returns what a device with room does next, and wakes others if it leaves them
    /// something.
    fn next(&self, device: DeviceIndex) -> LiveNext;

    /// The same for a device that keeps samples: `place` runs under the core's lock, so it
    /// must be quick and free no memory.
    fn turn(&self, device: DeviceIndex, place: &mut dyn FnMut(&DriverTurn<'_>)) -> LiveNext;

    /// Hands the parts that left since the last turn to `free`, under the core's lock, if
    /// there are any.
    fn departed(&self, device: DeviceIndex, free: &mut dyn FnMut(&[PartKey]));

    /// A part was copied to a device's memory at `at`, or will not be.
    fn copied(&self, device: DeviceIndex, part: PartKey, at: Duration, span: Option<Span>);

    /// A batch was run and is about to be folded. False where its device was lost before:
    /// others run its samples, and its answers must be dropped.
    fn begin_folding(&self, batch: &LiveBatch) -> bool;

    /// Takes a batch that was folded by `at` out of execution.
    fn finish(&self, batch: &LiveBatch, stamps: &Stamps, at: Duration) -> Completed;

    /// The same for a device that runs batches side by side: wakes whoever can do more now,
    /// and tells whether the device itself can.
    fn finish_and_wake(&self, batch: &LiveBatch, stamps: &Stamps, at: Duration) -> Completed;

    /// Answers the requests that are complete by a batch, and notes what it did when.
    fn answer(&self, batch: &LiveBatch, stamps: &Stamps, completed: Completed);

    /// A batch was run and cannot be folded: its requests fail, unless they can do without it; its
    /// worker is as good as before.
    fn not_folded(&self, batch: &LiveBatch, why: &RulePanicked);

    /// A batch was not run: its requests fail at once, unless they can do without it, then its worker
    /// is built anew or retired. The caller holds no lock, and is no thread that the worker's end waits for.
    fn worker_failed(self: Arc<Self>, batch: &LiveBatch, why: &BatchError);

    /// A device is gone: its batches go back to the queues, then `close` runs, then others
    /// are woken and whoever listens is told.
    fn lost(&self, device: DeviceIndex, cause: LossCause, close: &mut dyn FnMut());
}
