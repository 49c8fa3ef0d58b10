//! The core driven live: a driver a device, one thread for timers, the callers' for the rest.

mod answers;
mod apply;
mod counters;
mod drivers;
mod engine;
mod factory;
mod faults;
mod folding;
mod host;
mod locks;
mod losses;
mod member_sampler;
mod panics;
mod pending;
mod promise;
mod request;
mod reserve;
mod settings;
mod state;
mod telemetry;

pub use counters::Graded;
pub use drivers::{DeviceCapabilities, DeviceVitals, DriverError, GpuRunner, LossReason};
pub use engine::{Engine, EngineError, EngineOptions};
pub use factory::{BuildError, FakeFactory, NetworkFactory, PredictorFactory, Programs};
pub use faults::{DeviceFaults, FaultError};
pub(crate) use locks::{Leaf, LoadRank, MachineRank};
pub use losses::Loss;
pub use panics::Panicked;
pub(crate) use panics::caught;
pub use pending::{Pending, Staged};
pub use promise::{Failure, Outcome, Reply, Settlements};
pub use request::Request;
pub use reserve::{Reservation, ReserveError};
pub use settings::EngineSettings;
pub use state::SPAN_BOUND;
pub use telemetry::{Observed, Telemetry};
