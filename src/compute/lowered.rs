//! A network ready to run: fused steps, folded weights, an arena's plan.

use crate::network::{Graph, Weights};

use super::error::ComputeError;
use super::family::Family;
use super::fold::{StepWeights, fold};
use super::kernels::{self, Context, Source};
use super::plan::{Plan, PlannedStep};
use super::rows::zeroed;
use super::view::{Place, View};

/// What all workers of one member in one memory space share.
#[derive(Debug)]
pub struct Lowered {
    plan: Plan,
    weights: Vec<StepWeights>,
    family: Family,
    inputs: usize,
    outputs: usize,
}

/// Intermediate values of one thread, for batches of up to its size.
#[derive(Debug)]
pub(super) struct Arena {
    slots: Vec<Vec<f32>>,
    tile: Vec<f32>,
    batch: usize,
}

impl Lowered {
    /// Lowers `graph` with its weights for the best kernels that this processor has.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub fn new(graph: &Graph, weights: &Weights) -> Result<Self, ComputeError> {
        Self::with(graph, weights, Family::best())
    }

    /// The same for the kernels of one family.
    ///
    /// # Errors
    /// As [`Lowered::new`].
    pub fn with(graph: &Graph, weights: &Weights, family: Family) -> Result<Self, ComputeError> {
        let plan = Plan::new(graph);
        let weights = plan
            .steps
            .iter()
            .map(|step| fold(graph, weights, &step.fused))
            .collect();
        Ok(Lowered {
            plan,
            weights,
            family,
            inputs: graph.input().elements(),
            outputs: graph.output().elements(),
        })
    }

    /// The kernels it was lowered for.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Values of one sample.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Values of one answer.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Memory for batches of up to `batch`.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`] where the system gives no more.
    pub(super) fn arena(&self, batch: usize) -> Result<Arena, ComputeError> {
        let slots = self
            .plan
            .slots
            .iter()
            .map(|floats| zeroed(floats * batch))
            .collect::<Result<_, _>>()?;
        Ok(Arena {
            slots,
            tile: Vec::new(),
            batch,
        })
    }

    /// Runs `batch` samples: `input` is `[batch, inputs]`, `output` `[batch, outputs]`.
    ///
    /// # Errors
    /// The batch is larger than the arena, or a slice has another length.
    pub(super) fn run(
        &self,
        arena: &mut Arena,
        batch: usize,
        input: &[f32],
        output: &mut [f32],
    ) -> Result<(), ComputeError> {
        check("input", batch * self.inputs, input.len())?;
        check("output", batch * self.outputs, output.len())?;
        if batch > arena.batch {
            return Err(ComputeError::BatchTooLarge {
                found: batch,
                most: arena.batch,
            });
        }
        for (step, weights) in self.plan.steps.iter().zip(&self.weights) {
            self.run_step(step, weights, arena, batch, input);
        }
        self.copy_answer(arena, batch, output);
        Ok(())
    }

    fn run_step(
        &self,
        step: &PlannedStep,
        weights: &StepWeights,
        arena: &mut Arena,
        batch: usize,
        input: &[f32],
    ) {
        let Place::Slot(target) = step.output.place else {
            return;
        };
        // The plan never lets a step read the slot it writes (but for values a
        // concatenation finds in place), so the slot can leave the arena meanwhile.
        let mut out = std::mem::take(&mut arena.slots[target]);
        let source = |view: View| Source {
            view,
            data: match view.place {
                Place::Input => input,
                Place::Slot(slot) => &arena.slots[slot],
            },
        };
        let inputs: Vec<Source<'_>> = step.inputs.iter().map(|&v| source(v)).collect();
        let residual = step.residual.map(source);
        let context = Context {
            step,
            weights,
            batch,
            tile: &mut arena.tile,
        };
        kernels::run(context, &inputs, residual, &mut out);
        arena.slots[target] = out;
    }

    fn copy_answer(&self, arena: &Arena, batch: usize, output: &mut [f32]) {
        let view = self.plan.answer;
        let Place::Slot(slot) = view.place else {
            return;
        };
        let rows = arena.slots[slot].chunks_exact(view.sample_stride());
        for (to, row) in output.chunks_exact_mut(self.outputs).zip(rows).take(batch) {
            to.copy_from_slice(&row[view.first..view.first + view.channels]);
        }
    }
}

fn check(what: &'static str, expected: usize, found: usize) -> Result<(), ComputeError> {
    if expected == found {
        Ok(())
    } else {
        Err(ComputeError::Shape {
            what,
            expected,
            found,
        })
    }
}
