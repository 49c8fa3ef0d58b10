//! The memory in which a worker runs batches: each thread some samples, or all threads each step.
//!
//! Threads that share a step wait for the last of them at its end. With several samples for each
//! thread, every thread runs all steps for its own samples, and all threads share the remaining
//! samples. With fewer samples, each thread would read the weights for too little work. A thread
//! that the system suspends delays the batch by the whole suspension if it runs its own samples,
//! but only by one task if threads share steps.

use std::sync::Mutex;

use super::ComputeError;
use super::arena::Arena;
use super::kernels::{Buffer, LINE};
use super::lowered::Lowered;
use super::plan::ArenaPlan;
use crate::device::ThreadTeam;
use crate::lock::lock;

/// Floating-point operations below which one thread finishes before others wake up, which takes
/// about twenty microseconds.
const WORTH_WAKING: f64 = 2e6;

/// The fewest samples that a thread runs apart from others.
const LEAST_APART: usize = 2;

/// Arenas for batches of up to a number of samples and threads, in one memory.
#[derive(Debug)]
pub(super) struct BatchArenas {
    batch: usize,
    threads: usize,
    /// All threads run together in it.
    together: Arena,
    /// One arena for each thread; empty if batches have too few samples.
    apart: Vec<Arena>,
    memory: Buffer,
    /// How the memory is laid out, or `None` if it is laid out for another network.
    laid_out: Option<RunWay>,
}

/// How a batch is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunWay {
    /// Each step by all threads.
    Together,
    /// All steps on each thread, for its own samples.
    Apart,
}

/// The samples that arenas have room for.
#[derive(Clone, Copy)]
struct ArenaSizes {
    together: usize,
    /// Samples in the arena of each thread; 0 without such arenas.
    each: usize,
}

impl ArenaSizes {
    fn new(batch: usize, threads: usize) -> Self {
        let least = LEAST_APART * threads;
        match threads > 1 && batch >= least {
            true => ArenaSizes {
                together: least - 1,
                each: batch / threads,
            },
            false => ArenaSizes {
                together: batch,
                each: 0,
            },
        }
    }
}

impl BatchArenas {
    /// Takes memory for batches of up to `batch` samples on up to `threads` threads.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub(super) fn new(
        network: &Lowered,
        batch: usize,
        threads: usize,
    ) -> Result<Self, ComputeError> {
        let sizes = ArenaSizes::new(batch, threads);
        let mut arenas = BatchArenas {
            batch,
            threads,
            together: Arena::new(network, sizes.together, threads, 1),
            apart: arenas_of_threads(network, sizes, threads),
            memory: Buffer::default(),
            laid_out: None,
        };
        arenas.take_memory()?;
        Ok(arenas)
    }

    /// Returns the bytes that a plan takes for batches of up to `batch` samples on up to `threads`
    /// threads.
    pub(super) fn bytes(plan: &ArenaPlan, batch: usize, threads: usize) -> u64 {
        let sizes = ArenaSizes::new(batch, threads);
        let layout =
            |samples, threads, beside| plan.layout(plan.samples_together(samples, beside), threads);
        let together = layout(sizes.together, threads, 1);
        let (mut floats, mut offsets) = (together.floats, together.offset_bytes());
        if sizes.each > 0 {
            let each = layout(sizes.each, 1, threads);
            floats = floats.max(threads * each.floats);
            offsets += threads * each.offset_bytes();
        }
        (4 * (floats + LINE) + offsets) as u64
    }

    /// Lays the memory out for batches of another network, and takes more memory if needed.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub(super) fn fit(&mut self, network: &Lowered) -> Result<(), ComputeError> {
        let sizes = ArenaSizes::new(self.batch, self.threads);
        self.together.fit(network, sizes.together);
        for arena in &mut self.apart {
            arena.fit(network, sizes.each);
        }
        self.take_memory()
    }

    fn take_memory(&mut self) -> Result<(), ComputeError> {
        let apart: usize = self.apart.iter().map(Arena::floats).sum();
        let floats = self.together.floats().max(apart);
        if floats > self.memory.values().len() {
            // Freed first: the old values are not needed, and both blocks need not fit at once.
            self.memory = Buffer::default();
            self.memory = Buffer::zeroed(floats)?;
        }
        // Another network may have written values where this one reads zeros.
        self.laid_out = None;
        Ok(())
    }

    fn lay_out(&mut self, network: &Lowered, way: RunWay) {
        if self.laid_out == Some(way) {
            return;
        }
        let memory = self.memory.values_mut();
        match way {
            RunWay::Together => self.together.fill_borders(network, memory),
            RunWay::Apart => {
                for (arena, memory) in split_memory(&mut self.apart, memory) {
                    arena.fill_borders(network, memory);
                }
            }
        }
        self.laid_out = Some(way);
    }

    /// Runs `samples` samples: `input` is `[samples, inputs]`, `output`
    /// `[samples, outputs]`.
    ///
    /// # Errors
    /// The batch is larger than the arenas, or a slice has another length.
    pub(super) fn run(
        &mut self,
        network: &Lowered,
        team: Option<&ThreadTeam>,
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
        let is_worth_waking = network.flops() * samples as f64 >= WORTH_WAKING;
        let Some(team) = team.filter(|_| is_worth_waking) else {
            self.run_alone(network, input, output);
            return Ok(());
        };
        // Without intermediate values there is nothing to lay out for each thread.
        let has_memory = self.apart.first().is_some_and(|arena| arena.floats() > 0);
        let all = match has_memory && samples >= LEAST_APART * self.threads {
            true => samples - samples % self.threads,
            false => 0,
        };
        let (now, input) = input.split_at(all * network.inputs());
        let (to, output) = output.split_at_mut(all * network.outputs());
        if all > 0 {
            self.run_apart(network, team, all / self.threads, now, to);
        }
        if all < samples {
            self.lay_out(network, RunWay::Together);
            let memory = self.memory.values_mut();
            self.together
                .run(network, Some(team), memory, input, output);
        }
        Ok(())
    }

    /// Runs samples by the caller's thread.
    fn run_alone(&mut self, network: &Lowered, input: &[f32], output: &mut [f32]) {
        // If there are arenas of threads, one of them has room for enough samples.
        let way = match self.apart.is_empty() {
            true => RunWay::Together,
            false => RunWay::Apart,
        };
        self.lay_out(network, way);
        let arena = self.apart.first_mut().unwrap_or(&mut self.together);
        let memory = self.memory.values_mut();
        arena.run(network, None, memory, input, output);
    }

    /// Runs `each` samples on each thread. Threads that have begun also run the samples of threads
    /// that have not.
    fn run_apart(
        &mut self,
        network: &Lowered,
        team: &ThreadTeam,
        each: usize,
        input: &[f32],
        output: &mut [f32],
    ) {
        self.lay_out(network, RunWay::Apart);
        let inputs = input.chunks(each * network.inputs().max(1));
        let outputs = output.chunks_mut(each * network.outputs().max(1));
        let arenas = split_memory(&mut self.apart, self.memory.values_mut());
        let parts = Mutex::new(arenas.zip(inputs.zip(outputs)));
        let next = || lock(&parts).next();
        team.run(|_| {
            while let Some(((arena, memory), (input, output))) = next() {
                arena.run(network, None, memory, input, output);
            }
        });
    }
}

fn arenas_of_threads(network: &Lowered, sizes: ArenaSizes, threads: usize) -> Vec<Arena> {
    let each = (0..threads).filter(|_| sizes.each > 0);
    each.map(|_| Arena::new(network, sizes.each, 1, threads))
        .collect()
}

/// Returns the arenas of threads with the memory of each.
fn split_memory<'a>(
    arenas: &'a mut [Arena],
    memory: &'a mut [f32],
) -> impl Iterator<Item = (&'a mut Arena, &'a mut [f32])> {
    // All take as much.
    let floats = arenas.first().map_or(0, Arena::floats).max(1);
    arenas.iter_mut().zip(memory.chunks_mut(floats))
}
