//! Networks on GPUs: lowered at a member's first worker there, gone with its last.

use std::sync::{Arc, Mutex, Weak};

use crate::compute::gpu::{Precision, Program, lower};
use crate::device::gpu::Gpu;
use crate::ensemble::{Member, OutputKind};
use crate::lock::lock;

use super::super::factory::BuildError;

/// Programs that somebody holds.
#[derive(Default)]
pub struct Programs {
    known: Mutex<Vec<Known>>,
}

struct Known {
    member: usize,
    gpu: Weak<dyn Gpu>,
    program: Weak<dyn Program>,
}

impl Programs {
    /// The one of `member` on `gpu`; where nobody holds it, `lower` makes it.
    ///
    /// # Errors
    /// It could not be made.
    pub fn get(
        &self,
        member: usize,
        gpu: &Arc<dyn Gpu>,
        lower: impl FnOnce() -> Result<Arc<dyn Program>, BuildError>,
    ) -> Result<Arc<dyn Program>, BuildError> {
        let mut known = lock(&self.known);
        known.retain(|k| k.program.strong_count() > 0);
        // A GPU that was opened again is another one.
        let same = |k: &&Known| k.member == member && is(&k.gpu, gpu);
        if let Some(program) = known.iter().find(same).and_then(|k| k.program.upgrade()) {
            return Ok(program);
        }
        let program = lower()?;
        known.push(Known {
            member,
            gpu: Arc::downgrade(gpu),
            program: Arc::downgrade(&program),
        });
        Ok(program)
    }
}

fn is(known: &Weak<dyn Gpu>, gpu: &Arc<dyn Gpu>) -> bool {
    known
        .upgrade()
        .is_some_and(|known| Arc::ptr_eq(&known, gpu))
}

/// Lowers a member's network for a GPU.
///
/// # Errors
/// The GPU cannot hold it, its weights changed meanwhile, or this build knows no GPUs.
pub fn lower_for_gpu(
    member: &Member,
    precision: Precision,
    gpu: &Arc<dyn Gpu>,
) -> Result<Arc<dyn Program>, BuildError> {
    member.weights.check()?;
    let lowered = match member.outputs {
        OutputKind::Probabilities | OutputKind::Values => {
            lower(gpu, &member.graph, &member.weights, precision)
        }
        OutputKind::Logits => {
            let graph = member.graph.with_softmax()?;
            lower(gpu, &graph, &member.weights, precision)
        }
    };
    // A file that was written to meanwhile gave neither the old weights nor the new.
    member.weights.check()?;
    member.weights.release();
    Ok(lowered?)
}
