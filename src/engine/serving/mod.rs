//! From requests to answers.
//!
//! A state machine without clock, lock or thread makes the decisions: [`Core`] takes events with
//! their times and returns actions. `live` drives it with threads; tests and the simulation drive
//! it in virtual time.

mod answer;
mod batch;
mod core;
mod door;
mod drain;
mod events;
mod flaws;
mod keys;
mod ledger;
mod live;
mod log_line;
mod order;
mod plan;
mod policy;
mod pool;
mod queue;
mod reload;
mod scheduler;
mod simulated;

pub use answer::{Answer, BatchOfRun, MissingSteps, Part, StepRun};
pub use batch::{
    Batch, BatchId, PartKey, PipelineIndex, Placed, Range, RequestKey, Slice, Transfer, WorkerId,
};
pub use core::{
    Admission, Arrival, CompletingRun, Core, CoreConfig, DeviceStats, Finished, HostWork,
    Latencies, LevelStats, MemberStats, Next, Owed, PanicWatch, PipelineConfig, RequestBatches,
    Stamps, StepStats, Verdict, WorkerStats, batch_spans, transfer_span,
};
pub use divisi_model::setup::{SettingChange, Setup, SetupError};
pub use door::{Door, DoorState, Refused};
pub use drain::{DrainLimits, DrainWait, WorkLeft};
pub use events::{EngineEvent, LogLevel, WorkerOutcome};
pub use flaws::{Detail, Flaw, FlawKind, Flaws};
pub use ledger::{ObjectiveCounts, RequestLedger, ServiceObjective, THIS_PROCESS};
pub use live::{
    Accounting, BuildError, DeviceCapabilities, DeviceFaults, DeviceVitals, DriverError, Engine,
    EngineError, EngineOptions, EngineSettings, EntryStats, Failure, FakeFactory, FaultError,
    GpuRunner, Graded, GraphStep, GraphWork, Loss, LossReason, NetworkFactory, NotFiniteMember,
    Observed, Outcome, Panicked, Pending, PredictorFactory, Programs, Reply, Request, Reservation,
    ReserveError, RunListener, SPAN_BOUND, Settlements, SharedSamples, Staged, StepGraph,
    SubmittedRequest, Telemetry,
};
pub(crate) use live::{
    DeploymentRank, Leaf, MachineRank, RequestsRank, SharedLeaf, TurnRank, caught,
};
pub use log_line::{LogTarget, UntracedLine};
pub use order::SampleOrder;
pub use plan::{ApplyError, ApplyStep, NoFallback, Plan, PlanBasis, PlanError, PlanLimits};
pub use policy::{Beside, Decision, Lane, Lanes, QueueState, decide, fitting, lane_sizes};
pub use pool::PoolIndex;
pub use queue::{MemberQueue, Segmenter, StepFilter};
pub use reload::{Reload, ReloadAction, ReloadEvent, ReloadPlan};
pub use scheduler::{
    Discipline, Duty, FinishedBatch, Left, Pick, Scheduler, Start, Want, WorkerSpec,
};
pub use simulated::{DeviceEvent, SimulatedDevice};
