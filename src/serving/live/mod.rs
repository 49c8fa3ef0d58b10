//! The core driven live: one thread a device, one for timers, the caller's for the rest.

mod assembly;
mod ballots;
mod checkpoints;
mod client;
mod engine;
mod factory;
mod fates;
mod flawed;
mod gpu;
mod observe;
mod partition;
mod promise;
mod reloader;
mod reserve;
mod settings;
mod shared;
mod simulated;
mod trouble;
mod watched;
mod worker;

pub use client::{Failure, Outcome, Pending, Reply, Request, Staged};
pub use engine::{Engine, EngineError, EngineOptions};
pub use factory::{BuildError, FakeFactory, NetworkFactory, PredictorFactory};
pub use gpu::{GpuRunner, Loss, Programs};
pub use observe::Observed;
pub use promise::Settlements;
pub use reloader::ReloadError;
pub use reserve::Reservation;
pub use shared::SPAN_BOUND;
pub use watched::Graded;
