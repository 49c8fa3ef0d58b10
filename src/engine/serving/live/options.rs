//! The options of an engine.

use std::time::{Duration, Instant};

use crate::serving::drain::DrainLimits;
use divisi_model::allocation::PoolBounds;
use divisi_runtime::device::ThreadPriority;

/// The options of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// The bounds of the sample pool.
    pub pool: PoolBounds,
    /// The longest time for draining.
    pub drain_limit: Duration,
    /// The time limits for finishing requests in an engine that another one replaces.
    pub retire_limits: DrainLimits,
    /// The zero of the engine's clock, or `None` for its start.
    pub epoch: Option<Instant>,
    /// The priority of the threads of partitions, or `None` for the normal one.
    pub priority: Option<ThreadPriority>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            pool: PoolBounds::default(),
            drain_limit: Duration::from_secs(10),
            retire_limits: DrainLimits::default(),
            epoch: None,
            priority: None,
        }
    }
}
