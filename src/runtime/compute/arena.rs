//! The arena: the memory in which a worker runs a network, for batches of up to a size.

use std::sync::Mutex;

use rayon::ThreadPool;

use crate::lock::lock;

use super::buffers::ValuePlace;
use super::error::ComputeError;
use super::kernels::{ArenaLayout, BatchMemory, Buffer};
use super::lowered::{Lowered, StepPhase, ThreadShare};
use super::team::PhaseBarrier;

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
        Ok(Arena {
            together,
            batch,
            threads,
            buffer: Buffer::zeroed(layout.floats)?,
            offsets: (0..threads).map(|_| offsets()).collect(),
            layout,
            phases: Vec::new(),
            progress: PhaseBarrier::default(),
        })
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
        check("input", samples * network.inputs(), input.len())?;
        check("output", samples * network.outputs(), output.len())?;
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
        self.progress.begin(self.phases.len());
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
        let work = |thread: usize| {
            let share = ThreadShare {
                memory,
                threads,
                thread,
                offsets: &mut lock(&offsets[thread]),
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
