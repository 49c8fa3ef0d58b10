//! Threads that run the phases of a network together.
//!
//! Each thread goes through all phases in order. It takes tasks of a phase while there are
//! any, then waits for those that others still run. Nobody waits for a thread that has
//! not begun, so a thread that the system keeps away delays a batch by one task at most,
//! and two batches on one pool cannot wait for each other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How far the threads are.
#[derive(Debug, Default)]
pub(super) struct Progress {
    phases: Vec<Counters>,
    /// Set by a thread that panics, so that nobody waits for what it leaves.
    broken: AtomicBool,
}

#[derive(Debug, Default)]
struct Counters {
    taken: AtomicUsize,
    done: AtomicUsize,
}

/// Rounds of spinning before others are let run.
const SPINS: usize = 2_000;

impl Progress {
    /// Begins a run of `phases` phases.
    pub fn begin(&mut self, phases: usize) {
        if self.phases.len() < phases {
            self.phases.resize_with(phases, Counters::default);
        }
        for counters in &mut self.phases[..phases] {
            *counters.taken.get_mut() = 0;
            *counters.done.get_mut() = 0;
        }
        *self.broken.get_mut() = false;
    }

    /// Runs what is left of phase `phase`'s `tasks`, and returns once all are done; false
    /// where another thread panicked.
    pub fn run(&self, phase: usize, tasks: usize, mut task: impl FnMut(usize)) -> bool {
        let counters = &self.phases[phase];
        let alarm = Alarm(&self.broken);
        loop {
            let next = counters.taken.fetch_add(1, Ordering::Relaxed);
            if next >= tasks {
                break;
            }
            task(next);
            counters.done.fetch_add(1, Ordering::Release);
        }
        std::mem::forget(alarm);
        self.wait(counters, tasks)
    }

    fn wait(&self, counters: &Counters, tasks: usize) -> bool {
        let mut spins = 0;
        while counters.done.load(Ordering::Acquire) < tasks {
            if self.broken.load(Ordering::Relaxed) {
                return false;
            }
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        true
    }
}

/// Tells the others when its thread panics.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
