//! Drives the core with threads: one driver for each device, one thread for timers, and the
//! callers' threads.
//!
//! One mutex guards the core. No thread holds it while it computes, copies or answers. A thread
//! without work spins for at most 20 µs, then sleeps until it is woken. One sample wakes one
//! device.

mod answers;
mod apply;
mod columns;
mod counters;
mod drivers;
mod engine;
mod factory;
mod faults;
mod graph;
mod host;
mod host_steps;
mod kept_requests;
mod locks;
mod member_sampler;
mod options;
mod pending;
mod promise;
mod recent;
mod recorded;
mod request;
mod reserve;
mod run_log;
mod running;
mod samples;
mod served;
mod state;
mod step_graph;
mod telemetry;

pub use counters::{EntryStats, Graded};
pub use drivers::{DeviceCapabilities, DeviceVitals, DriverError, GpuRunner, LossReason};
pub use engine::{Engine, EngineError};
pub use factory::{BuildError, FakeFactory, NetworkFactory, PredictorFactory, Programs};
pub use faults::{DeviceFaults, FaultError};
pub(crate) use locks::{DeploymentRank, Leaf, MachineRank, RequestsRank, SharedLeaf, TurnRank};
pub use options::EngineOptions;
pub use pending::{Pending, Staged, SubmittedRequest};
pub(crate) use promise::caught;
pub use promise::{Failure, NotFiniteMember, Outcome, Panicked, Reply, Settlements};
pub use request::{Accounting, Request};
pub use reserve::{Reservation, ReserveError};
pub use run_log::RunListener;
pub use samples::SharedSamples;
pub use state::{EngineSettings, Loss, SPAN_BOUND};
pub use step_graph::{GraphStep, GraphWork, StepGraph};
pub use telemetry::{Observed, Telemetry};
