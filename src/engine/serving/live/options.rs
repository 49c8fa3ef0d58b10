//! How an engine is set up.

use std::time::{Duration, Instant};

use crate::serving::drain::DrainLimits;
use divisi_model::allocation::PoolBounds;
use divisi_runtime::device::ThreadPriority;

/// How an engine is set up.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// How large the sample pool may get.
    pub pool: PoolBounds,
    /// How long draining may take.
    pub drain_limit: Duration,
    /// How long an engine that another one follows may take to end what it began.
    pub retire_limits: DrainLimits,
    /// The moment that times are counted from; `None` for that of the start.
    pub epoch: Option<Instant>,
    /// How the threads of partitions stand behind others; `None` for as others.
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
