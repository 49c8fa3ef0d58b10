//! The core driven live: one thread a device, one for timers, the caller's for the rest.

mod client;
mod engine;
mod factory;
mod partition;
mod reloader;
mod shared;
mod worker;

pub use client::{Failure, Outcome, Pending, Reply, Request, Staged};
pub use engine::{Engine, EngineError, EngineOptions, Observed};
pub use factory::{BuildError, FakeFactory, NetworkFactory, PredictorFactory};
pub use reloader::ReloadError;
pub use shared::SPAN_BOUND;
