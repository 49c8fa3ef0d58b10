//! Networks ready to run: fused steps, folded weights and their plan, and the arena in which a
//! worker runs them, for batches of up to a size.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use rayon::ThreadPool;

use super::ComputeError;
use super::buffers::ValuePlace;
use super::family::Family;
use super::fold::fold_all;
use super::kernels::{ArenaLayout, BatchMemory, Buffer, Call, PlannedStep, StepWeights};
use super::lowering::CpuLowering;
use super::misses::LookupMisses;
use super::plan::ArenaPlan;
use super::precision::CpuKernels;
use super::shared::{KnownWeights, with_twins};
use super::team::PhaseBarrier;
use crate::lock::lock;
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
struct StepPhase {
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
        Self::sharing((graph, weights), by.into(), &KnownWeights::default())
    }

    /// Lowers a network, whose steps share the folded weights that are known.
    ///
    /// # Errors
    /// As for [`Lowered::new`].
    pub(super) fn sharing(
        (graph, weights): (&Graph, &Weights),
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
    fn phases(&self, samples: usize, threads: usize, phases: &mut Vec<StepPhase>) {
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
    unsafe fn run(
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
                // SAFETY: progress hands each task of a phase out once, and begins a
                // phase when the one before is done.
                unsafe { step.run(&mut call, phase.phase, task) };
            })
        })
    }

    /// Copies the answer of sample `sample` out of its slot, with an image's channels slowest.
    fn answer(&self, sample: usize, slot: &[f32], row: &mut [f32]) {
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

/// The memory and the number of one thread in a batch.
struct ThreadShare<'a> {
    memory: BatchMemory<'a>,
    threads: usize,
    thread: usize,
    offsets: &'a mut Vec<usize>,
    misses: &'a LookupMisses,
}

/// Intermediate values for batches of up to its size, on up to its threads.
#[derive(Debug)]
pub(super) struct Arena {
    /// Samples that are run together.
    together: usize,
    batch: usize,
    threads: usize,
    layout: ArenaLayout,
    buffer: Buffer,
    /// Row offsets of each thread.
    offsets: Vec<Mutex<Vec<usize>>>,
    misses: LookupMisses,
    phases: Vec<StepPhase>,
    progress: PhaseBarrier,
}

/// Floating-point operations below which one thread is done before others are awake, which
/// takes some twenty microseconds.
const WORTH_WAKING: f64 = 2e6;

impl Arena {
    /// Takes memory for batches of up to `batch` samples on up to `threads` threads.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub(super) fn new(
        network: &Lowered,
        batch: usize,
        threads: usize,
    ) -> Result<Self, ComputeError> {
        let together = network.plan().together(batch);
        let layout = network.plan().layout(together, threads);
        let offsets = || Mutex::new(Vec::with_capacity(layout.offsets));
        let mut buffer = Buffer::zeroed(layout.floats)?;
        layout.fill_borders(0, buffer.values_mut());
        Ok(Arena {
            together,
            batch,
            threads,
            buffer,
            offsets: (0..threads).map(|_| offsets()).collect(),
            misses: LookupMisses::new(together),
            layout,
            phases: Vec::new(),
            progress: PhaseBarrier::default(),
        })
    }

    /// Lays the memory out for batches of up to `batch` samples of another network, and takes more
    /// where that needs it.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub(super) fn fit(&mut self, network: &Lowered, batch: usize) -> Result<(), ComputeError> {
        self.together = network.plan().together(batch);
        self.batch = batch;
        self.misses.fit(self.together);
        self.layout = network.plan().layout(self.together, self.threads);
        if self.layout.floats > self.buffer.values().len() {
            // What was there is of no use; both need not fit at once.
            self.buffer = Buffer::default();
            self.buffer = Buffer::zeroed(self.layout.floats)?;
        }
        // Another network may have had values where this one reads zeros.
        let floats = self.buffer.values_mut();
        self.layout.fill_borders(network.plan().zeros, floats);
        Ok(())
    }

    /// Runs `samples` samples: `input` is `[samples, inputs]`, `output`
    /// `[samples, outputs]`.
    ///
    /// # Errors
    /// The batch is larger than the arena, or a slice has another length.
    pub(super) fn run(
        &mut self,
        network: &Lowered,
        pool: Option<&ThreadPool>,
        samples: usize,
        input: &[f32],
        output: &mut [f32],
    ) -> Result<(), ComputeError> {
        ComputeError::check_length("input", samples * network.inputs(), input.len())?;
        ComputeError::check_length("output", samples * network.outputs(), output.len())?;
        if samples > self.batch {
            return Err(ComputeError::BatchTooLarge {
                found: samples,
                most: self.batch,
            });
        }
        if samples == 0 {
            return Ok(());
        }
        let inputs = input.chunks(self.together * network.inputs().max(1));
        let outputs = output.chunks_mut(self.together * network.outputs().max(1));
        for (input, output) in inputs.zip(outputs) {
            self.run_together(network, pool, input, output);
        }
        Ok(())
    }

    fn run_together(
        &mut self,
        network: &Lowered,
        pool: Option<&ThreadPool>,
        input: &[f32],
        output: &mut [f32],
    ) {
        let samples = input.len() / network.inputs().max(1);
        let small = network.flops() * (samples as f64) < WORTH_WAKING;
        let pool = pool.filter(|_| !small);
        let threads = pool.map_or(1, |_| self.threads);
        network.phases(samples, threads, &mut self.phases);
        self.progress.begin(self.phases.len(), threads);
        self.misses.clear();
        self.compute(network, pool, threads, input);
        self.answer(network, samples, output);
    }

    fn compute(
        &mut self,
        network: &Lowered,
        pool: Option<&ThreadPool>,
        threads: usize,
        input: &[f32],
    ) {
        let memory = BatchMemory::new(&mut self.buffer, &self.layout, input);
        let (phases, progress, offsets) = (&self.phases, &self.progress, &self.offsets);
        let misses = &self.misses;
        let work = |thread: usize| {
            let share = ThreadShare {
                memory,
                threads,
                thread,
                offsets: &mut lock(&offsets[thread]),
                misses,
            };
            #[allow(unsafe_code, reason = "threads share one memory")]
            // SAFETY: the layout is for at least these samples and threads, the phases are
            // theirs, and the buffer is borrowed mutably for as long as threads run.
            unsafe {
                network.run(phases, progress, share)
            }
        };
        match pool {
            Some(pool) => {
                pool.broadcast(|thread| work(thread.index()));
            }
            None => {
                work(0);
            }
        }
    }

    fn answer(&self, network: &Lowered, samples: usize, output: &mut [f32]) {
        let rows = output.chunks_exact_mut(network.outputs().max(1));
        for (sample, row) in (0..samples).zip(rows) {
            if let ValuePlace::Slot(slot) = network.plan().answer.place {
                let values = &self.buffer.values()[self.layout.slots[slot].clone()];
                network.answer(sample, values, row);
            }
            if self.misses.has(sample) {
                row.fill(f32::NAN);
            }
        }
    }
}
