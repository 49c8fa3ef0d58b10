//! Networks ready to run: fused steps, folded weights and their plan.

use std::ops::Range;
use std::sync::Arc;

use super::ComputeError;
use super::arena::ThreadShare;
use super::family::Family;
use super::fold::fold_all;
use super::kernels::{Call, PlannedStep, StepWeights};
use super::lowering::CpuLowering;
use super::plan::ArenaPlan;
use super::precision::CpuKernels;
use super::shared::{KnownWeights, with_twins};
use super::team::PhaseBarrier;
use crate::network::{Graph, Shape, Weights};

/// A network lowered for a processor; all workers of a member in a memory space share it.
#[derive(Debug)]
pub struct Lowered {
    plan: ArenaPlan,
    weights: Vec<Arc<StepWeights>>,
    kernels: CpuKernels,
    inputs: usize,
    outputs: usize,
    /// Whether the answer is an image.
    is_image: bool,
    flops: f64,
}

/// One phase of one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepPhase {
    step: usize,
    phase: usize,
    tasks: usize,
    /// The samples it is for.
    first: usize,
    samples: usize,
}

impl Lowered {
    /// Lowers `graph` with its weights for the fastest kernels that this processor has.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub fn new(graph: &Graph, weights: &Weights) -> Result<Self, ComputeError> {
        Self::with(graph, weights, Family::best())
    }

    /// Lowers `graph` for kernels (a family alone is for float32), or for the plain ones if the
    /// processor lacks these.
    ///
    /// # Errors
    /// As for [`Lowered::new`].
    pub fn with<'a>(
        graph: &Graph,
        weights: &Weights,
        by: impl Into<CpuLowering<'a>>,
    ) -> Result<Self, ComputeError> {
        Self::sharing(graph, weights, by.into(), &KnownWeights::default())
    }

    /// Lowers a network, whose steps share the folded weights that are known.
    ///
    /// # Errors
    /// As for [`Lowered::new`].
    pub(super) fn sharing(
        graph: &Graph,
        weights: &Weights,
        by: CpuLowering<'_>,
        known: &KnownWeights<'_>,
    ) -> Result<Self, ComputeError> {
        let (kernels, plan) = (by.kernels.usable(), by.plan(graph));
        let own: Vec<_> = plan.own_steps().collect();
        let own = fold_all(&own, |step| known.fold(graph, weights, step))?;
        let weights = with_twins(own, &plan.twins);
        Ok(Lowered {
            plan,
            weights,
            kernels,
            inputs: graph.input().elements(),
            outputs: graph.output().elements(),
            is_image: matches!(graph.output(), Shape::Image { .. }),
            flops: graph.flops() as f64,
        })
    }

    /// Returns the family of kernels that the network was lowered for.
    pub fn family(&self) -> Family {
        self.kernels.family
    }

    /// Returns the kernels that the network was lowered for.
    pub(super) fn kernels(&self) -> CpuKernels {
        self.kernels
    }

    /// Returns the number of values of one sample.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the number of values of one answer.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Returns the floating-point operations for one sample, as the direct algorithm.
    pub(super) fn flops(&self) -> f64 {
        self.flops
    }

    pub(super) fn plan(&self) -> &ArenaPlan {
        &self.plan
    }

    /// Returns the steps with their folded weights.
    pub(super) fn folded(&self) -> impl Iterator<Item = (&PlannedStep, &Arc<StepWeights>)> {
        self.plan.steps.iter().zip(&self.weights)
    }

    /// Lists the phases that `samples` samples go through, in order.
    pub(super) fn phases(&self, samples: usize, threads: usize, phases: &mut Vec<StepPhase>) {
        phases.clear();
        let chunks = self.plan.chunks;
        let early = chunks.early(samples);
        for first in (0..samples).step_by(early) {
            let chunk = first..samples.min(first + early);
            self.add_phases(0..chunks.cut, chunk, threads, phases);
        }
        self.add_phases(
            chunks.cut..self.plan.steps.len(),
            0..samples,
            threads,
            phases,
        );
    }

    fn add_phases(
        &self,
        steps: Range<usize>,
        samples: Range<usize>,
        threads: usize,
        phases: &mut Vec<StepPhase>,
    ) {
        for step in steps {
            let tasks = self.plan.steps[step].phases(samples.len(), threads);
            let all = tasks
                .into_iter()
                .enumerate()
                .filter(|(_, tasks)| *tasks > 0);
            phases.extend(all.map(|(phase, tasks)| StepPhase {
                step,
                phase,
                tasks,
                first: samples.start,
                samples: samples.len(),
            }));
        }
    }

    /// Goes through all phases as one of several threads. Returns `false` if another thread
    /// panicked.
    ///
    /// # Safety
    /// `memory` was laid out for these samples and threads, `phases` are theirs and `progress`
    /// began with them; nothing else uses the memory, and each thread has its own number.
    #[allow(unsafe_code, reason = "threads share one memory")]
    pub(super) unsafe fn run(
        &self,
        phases: &[StepPhase],
        progress: &PhaseBarrier,
        share: ThreadShare<'_>,
    ) -> bool {
        phases.iter().enumerate().all(|(at, phase)| {
            progress.run(share.thread, at, phase.tasks, |task| {
                let step = &self.plan.steps[phase.step];
                let mut call = Call {
                    step: &step.placed,
                    weights: &self.weights[phase.step],
                    family: self.kernels.family,
                    memory: share.memory.from(phase.first),
                    samples: phase.samples,
                    threads: share.threads,
                    thread: share.thread,
                    offsets: &mut *share.offsets,
                    misses: share.misses.from(phase.first),
                };
                // SAFETY: progress hands each task of a phase out once, and begins a phase when the
                // previous one is done.
                unsafe { step.run(&mut call, phase.phase, task) };
            })
        })
    }

    /// Copies the answer of sample `sample` out of its slot, with an image's channels slowest.
    pub(super) fn answer(&self, sample: usize, slot: &[f32], row: &mut [f32]) {
        let view = self.plan.answer;
        let pixels = view.pixels();
        if !self.is_image {
            let first = sample * pixels;
            let rows = row.chunks_exact_mut(view.channels.max(1));
            for (at, to) in rows.enumerate() {
                let from = (first + at) * view.pitch + view.first;
                to.copy_from_slice(&slot[from..from + view.channels]);
            }
            return;
        }
        for pixel in 0..pixels {
            let first = (sample * pixels + pixel) * view.pitch + view.first;
            let values = &slot[first..first + view.channels];
            for (to, v) in row[pixel..].iter_mut().step_by(pixels).zip(values) {
                *to = *v;
            }
        }
    }
}
