//! A GPU in the live engine, by the traits of `device::gpu` and `compute::gpu` alone.
//!
//! One dispatcher thread asks the core what to do; one copier notes what was copied ahead;
//! a thread a lane runs batches. Nobody holds the core's lock while waiting for the GPU.

mod board;
mod copier;
mod cover;
mod crew;
mod dispatch;
mod hand;
mod lane;
mod loss;
mod pool;
mod programs;
mod solo;
mod stage;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::compute::ComputeError;
use crate::serving::batch::Batch;
use crate::serving::scheduler::WorkerSpec;

use super::client::RequestData;
use super::factory::BuildError;
use super::shared::EngineState;
use super::worker::panic_text;

pub use loss::Loss;
pub use programs::Programs;
pub use solo::GpuRunner;

pub(super) use board::{GpuContext, GpuSlot};
pub(super) use dispatch::sweep;
pub(super) use loss::{Losses, take_away};
pub(super) use programs::lower_for_gpu;

use crew::GpuWorker;
use loss::{lose, reason_to_build};

type LiveBatch = Batch<Arc<RequestData>>;

/// Builds a worker on a GPU; it serves nobody until the core knows it.
pub(super) fn build(
    shared: &Arc<EngineState>,
    board: &GpuSlot,
    spec: WorkerSpec,
) -> Result<(), BuildError> {
    let gone = || BuildError::Other("the GPU is gone".into());
    let opened = board.opened().ok_or_else(gone)?;
    let policy = shared.core().policy();
    let crew = GpuWorker::new(shared, &opened, spec, policy).inspect_err(|error| {
        if let Some(lost) = reason_to_build(error) {
            lose(shared, spec.device, &opened, lost);
        }
    })?;
    match opened.keep(spec.id, crew) {
        true => Ok(()),
        false => Err(gone()),
    }
}

/// What `make` gives; a panic is an error like others.
fn guarded<T>(make: impl FnOnce() -> Result<T, BuildError>) -> Result<T, BuildError> {
    catch_unwind(AssertUnwindSafe(make))
        .unwrap_or_else(|panic| Err(BuildError::Other(panic_text(panic.as_ref()))))
}

fn describe(error: &ComputeError) -> String {
    format!("failed: {error}")
}
