//! The memory and the threads of samples that run together.

use std::sync::Mutex;

use super::buffers::ValuePlace;
use super::kernels::{ArenaLayout, BatchMemory};
use super::lowered::{Lowered, StepPhase};
use super::misses::LookupMisses;
use super::team::PhaseBarrier;
use crate::device::ThreadTeam;
use crate::lock::lock;

/// The memory and the number of one thread in a batch.
pub(super) struct ThreadShare<'a> {
    pub memory: BatchMemory<'a>,
    pub threads: usize,
    pub thread: usize,
    pub offsets: &'a mut Vec<usize>,
    pub misses: &'a LookupMisses,
}

/// The layout of intermediate values for up to a number of samples and threads.
#[derive(Debug)]
pub(super) struct Arena {
    /// Samples that are run together.
    together: usize,
    threads: usize,
    /// The arenas of a batch.
    beside: usize,
    layout: ArenaLayout,
    /// Row offsets of each thread.
    offsets: Vec<Mutex<Vec<usize>>>,
    misses: LookupMisses,
    phases: Vec<StepPhase>,
    progress: PhaseBarrier,
}

impl Arena {
    /// Lays out up to `samples` samples on up to `threads` threads, for one of the `beside` arenas of a
    /// batch.
    pub(super) fn new(network: &Lowered, samples: usize, threads: usize, beside: usize) -> Self {
        let together = network.plan().samples_together(samples, beside);
        let layout = network.plan().layout(together, threads);
        let offsets = || Mutex::new(Vec::with_capacity(layout.offsets));
        Arena {
            together,
            threads,
            beside,
            offsets: (0..threads).map(|_| offsets()).collect(),
            misses: LookupMisses::new(together),
            layout,
            phases: Vec::new(),
            progress: PhaseBarrier::default(),
        }
    }

    /// Lays out up to `samples` samples of another network.
    pub(super) fn fit(&mut self, network: &Lowered, samples: usize) {
        self.together = network.plan().samples_together(samples, self.beside);
        self.misses.fit(self.together);
        self.layout = network.plan().layout(self.together, self.threads);
    }

    /// Returns the floats that it takes, whole cache lines.
    pub(super) fn floats(&self) -> usize {
        self.layout.floats
    }

    /// Writes the values outside of images.
    pub(super) fn fill_borders(&self, network: &Lowered, memory: &mut [f32]) {
        self.layout.fill_borders(network.plan().zeros, memory);
    }

    /// Runs the samples of `input` (`[samples, inputs]`) and writes `output` (`[samples,
    /// outputs]`), on all threads of a team or on the caller's thread. `memory` has
    /// [`Arena::floats`] floats, begins at a cache line, and holds the values outside of images.
    pub(super) fn run(
        &mut self,
        network: &Lowered,
        team: Option<&ThreadTeam>,
        memory: &mut [f32],
        input: &[f32],
        output: &mut [f32],
    ) {
        let inputs = input.chunks(self.together * network.inputs().max(1));
        let outputs = output.chunks_mut(self.together * network.outputs().max(1));
        for (input, output) in inputs.zip(outputs) {
            let samples = input.len() / network.inputs().max(1);
            let threads = team.map_or(1, |_| self.threads);
            network.phases(samples, threads, &mut self.phases);
            self.progress.begin(self.phases.len(), threads);
            self.misses.clear();
            self.compute(network, team, memory, threads, input);
            self.answer(network, samples, memory, output);
        }
    }

    fn compute(
        &self,
        network: &Lowered,
        team: Option<&ThreadTeam>,
        memory: &mut [f32],
        threads: usize,
        input: &[f32],
    ) {
        let memory = BatchMemory::new(memory, &self.layout, input);
        let work = |thread: usize| {
            let share = ThreadShare {
                memory,
                threads,
                thread,
                offsets: &mut lock(&self.offsets[thread]),
                misses: &self.misses,
            };
            #[allow(unsafe_code, reason = "threads share one memory")]
            // SAFETY: the layout and the phases are for at least these samples and threads, and the
            // memory is borrowed mutably while threads run.
            unsafe {
                network.run(&self.phases, &self.progress, share)
            }
        };
        match team {
            Some(team) => team.run(|thread| {
                work(thread);
            }),
            None => {
                work(0);
            }
        }
    }

    fn answer(&self, network: &Lowered, samples: usize, memory: &[f32], output: &mut [f32]) {
        let rows = output.chunks_exact_mut(network.outputs().max(1));
        for (sample, row) in (0..samples).zip(rows) {
            if let ValuePlace::Slot(slot) = network.plan().answer.place {
                network.answer(sample, &memory[self.layout.slots[slot].clone()], row);
            }
            if self.misses.has(sample) {
                row.fill(f32::NAN);
            }
        }
    }
}
