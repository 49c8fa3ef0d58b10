//! The core driven live: a driver a device, one thread for timers, the callers' for the rest.

mod answers;
mod counters;
mod drivers;
mod engine;
mod factory;
mod faults;
mod folding;
mod host;
mod losses;
mod member_sampler;
mod panics;
mod pending;
mod promise;
mod reloader;
mod request;
mod reserve;
mod settings;
mod state;
mod telemetry;

pub use counters::Graded;
pub use drivers::{DeviceCapabilities, DeviceVitals, DriverError, GpuRunner, LossReason};
pub use engine::{Engine, EngineError, EngineOptions};
pub use factory::{BuildError, FakeFactory, NetworkFactory, PredictorFactory, Programs};
pub use losses::Loss;
pub use panics::Panicked;
pub use pending::{Pending, Staged};
pub use promise::{Failure, Outcome, Reply, Settlements};
pub use reloader::ReloadError;
pub use request::Request;
pub use reserve::Reservation;
pub use state::SPAN_BOUND;
pub use telemetry::Observed;
