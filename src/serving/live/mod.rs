//! The core driven live: a driver a device, one thread for timers, the callers' for the rest.

mod answers;
mod apply;
mod counters;
mod drivers;
mod engine;
mod factory;
mod faults;
mod graph;
mod host;
mod host_steps;
mod locks;
mod member_sampler;
mod pending;
mod promise;
mod request;
mod reserve;
mod run_log;
mod served;
mod state;
mod step_graph;
mod telemetry;

pub use counters::{EntryStats, Graded};
pub use drivers::{DeviceCapabilities, DeviceVitals, DriverError, GpuRunner, LossReason};
pub use engine::{Engine, EngineError, EngineOptions};
pub use factory::{BuildError, FakeFactory, NetworkFactory, PredictorFactory, Programs};
pub use faults::{DeviceFaults, FaultError};
pub(crate) use locks::{DeploymentRank, Leaf, LoadRank, MachineRank, SharedLeaf};
pub use pending::{Pending, Staged, SubmittedRequest};
pub(crate) use promise::caught;
pub use promise::{Failure, Outcome, Panicked, Reply, Settlements};
pub use request::Request;
pub use reserve::{Reservation, ReserveError};
pub use state::{EngineSettings, Loss, SPAN_BOUND};
pub use step_graph::{GraphStep, GraphWork, StepGraph};
pub use telemetry::{Observed, Telemetry};
