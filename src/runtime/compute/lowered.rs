//! Networks ready to run: fused steps, folded weights, the plan of an arena.

use std::ops::Range;

use crate::network::{Graph, Weights};

use super::error::ComputeError;
use super::family::Family;
use super::fold::fold;
use super::kernels::{BatchMemory, Call, StepWeights, TileShape};
use super::plan::ArenaPlan;
use super::team::PhaseBarrier;

/// A network lowered for a processor; all workers of a member in a memory space share it.
#[derive(Debug)]
pub struct Lowered {
    plan: ArenaPlan,
    weights: Vec<StepWeights>,
    family: Family,
    inputs: usize,
    outputs: usize,
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

    /// Lowers `graph` for the kernels of `family`, or for the plain ones if the processor lacks
    /// these.
    ///
    /// # Errors
    /// As for [`Lowered::new`].
    pub fn with(graph: &Graph, weights: &Weights, family: Family) -> Result<Self, ComputeError> {
        let family = if family.is_available() {
            family
        } else {
            Family::Plain
        };
        let plan = ArenaPlan::new(graph, TileShape::of(family));
        let steps = plan.steps.iter();
        let weights = steps
            .map(|step| fold(graph, weights, step))
            .collect::<Result<_, _>>()?;
        Ok(Lowered {
            plan,
            weights,
            family,
            inputs: graph.input().elements(),
            outputs: graph.output().elements(),
            flops: graph.flops() as f64,
        })
    }

    /// Returns the family of kernels that the network was lowered for.
    pub fn family(&self) -> Family {
        self.family
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
    /// `memory` was laid out for these samples and threads, `phases` are theirs and
    /// `progress` began with them; nothing else uses the memory, and each thread has a
    /// number of its own.
    #[allow(unsafe_code, reason = "threads share one memory")]
    pub(super) unsafe fn run(
        &self,
        phases: &[StepPhase],
        progress: &PhaseBarrier,
        share: ThreadShare<'_>,
    ) -> bool {
        phases.iter().enumerate().all(|(at, phase)| {
            progress.run(at, phase.tasks, |task| {
                let step = &self.plan.steps[phase.step];
                let mut call = Call {
                    step: &step.placed,
                    weights: &self.weights[phase.step],
                    family: self.family,
                    memory: share.memory.from(phase.first),
                    samples: phase.samples,
                    threads: share.threads,
                    thread: share.thread,
                    offsets: &mut *share.offsets,
                };
                // SAFETY: progress hands each task of a phase out once, and begins a
                // phase when the one before is done.
                unsafe { step.run(&mut call, phase.phase, task) };
            })
        })
    }

    /// Copies the answer of sample `sample` out of its slot, with an image's channels slowest.
    pub(super) fn answer(&self, sample: usize, slot: &[f32], row: &mut [f32]) {
        let view = self.plan.answer;
        let pixels = view.pixels();
        for pixel in 0..pixels {
            let first = (sample * pixels + pixel) * view.pitch + view.first;
            let values = &slot[first..first + view.channels];
            for (to, v) in row[pixel..].iter_mut().step_by(pixels).zip(values) {
                *to = *v;
            }
        }
    }
}

/// The memory and the number of one thread in a batch.
pub(super) struct ThreadShare<'a> {
    pub memory: BatchMemory<'a>,
    pub threads: usize,
    pub thread: usize,
    pub offsets: &'a mut Vec<usize>,
}
