//! Threads that run the phases of a network together.
//!
//! Each thread goes through all phases in order. It takes its own share of a phase's tasks, one
//! after another, then the rest of the others' shares, and waits for tasks that other threads still
//! run. Shares of one phase and the next cover about the same part of an image, so a thread mostly
//! reads its own values, which are still in its core's cache.
//!
//! No thread waits for a thread that has not begun. So a thread that the system suspends delays a
//! batch by one task at most, and two batches on one team cannot wait for each other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::lock::lock;

/// The progress of the threads, and the barrier between phases.
#[derive(Debug, Default)]
pub(super) struct PhaseBarrier {
    threads: usize,
    /// Tasks taken of each thread's share, phase by phase.
    taken: Vec<AtomicUsize>,
    /// Tasks done of each phase.
    done: Vec<AtomicUsize>,
    /// Set by a thread that panics, so that no thread waits for its tasks.
    broken: AtomicBool,
    /// Threads that sleep until a phase is done.
    sleeping: AtomicUsize,
    gate: Mutex<()>,
    changed: Condvar,
}

/// Rounds of spinning before a waiting thread sleeps. It does not yield instead: a thread that
/// yields often waits longer for a core next to other programs (Linux 6.18).
const SPINS: usize = 2_000;

impl PhaseBarrier {
    /// Begins a run of `phases` phases on `threads` threads.
    pub(super) fn begin(&mut self, phases: usize, threads: usize) {
        self.threads = threads;
        self.taken.clear();
        self.taken
            .resize_with(phases * threads, AtomicUsize::default);
        self.done.clear();
        self.done.resize_with(phases, AtomicUsize::default);
        *self.broken.get_mut() = false;
    }

    /// Runs tasks of phase `phase` as thread `thread` until none of its `tasks` is left, and
    /// returns once all are done. Returns `false` if another thread panicked.
    pub(super) fn run(
        &self,
        thread: usize,
        phase: usize,
        tasks: usize,
        mut task: impl FnMut(usize),
    ) -> bool {
        let done = &self.done[phase];
        let alarm = PanicAlarm(self);
        for share in (thread..self.threads).chain(0..thread) {
            while let Some(next) = self.take(share, phase, tasks) {
                task(next);
                // This order and the one of `sleep` let no thread sleep past the last task.
                if done.fetch_add(1, Ordering::SeqCst) + 1 == tasks {
                    self.wake();
                }
            }
        }
        std::mem::forget(alarm);
        self.wait(done, tasks)
    }

    /// Takes the next task of a share, or `None` if none is left.
    fn take(&self, share: usize, phase: usize, tasks: usize) -> Option<usize> {
        let taken = &self.taken[phase * self.threads + share];
        let next = share * tasks / self.threads + taken.fetch_add(1, Ordering::Relaxed);
        (next < (share + 1) * tasks / self.threads).then_some(next)
    }

    /// Waits until all tasks are done. Returns `false` if another thread panicked.
    fn wait(&self, done: &AtomicUsize, tasks: usize) -> bool {
        let is_over = || done.load(Ordering::SeqCst) >= tasks || self.broken.load(Ordering::SeqCst);
        let mut spins = (0..SPINS).map(|_| std::hint::spin_loop());
        if !is_over() && !spins.any(|()| is_over()) {
            self.sleep(is_over);
        }
        done.load(Ordering::Acquire) >= tasks
    }

    fn sleep(&self, is_over: impl Fn() -> bool) {
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        let mut gate = lock(&self.gate);
        while !is_over() {
            let woken = self.changed.wait(gate);
            gate = woken.unwrap_or_else(PoisonError::into_inner);
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self) {
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            drop(lock(&self.gate));
            self.changed.notify_all();
        }
    }
}

/// Notifies the other threads when its thread panics.
struct PanicAlarm<'a>(&'a PhaseBarrier);

impl Drop for PanicAlarm<'_> {
    fn drop(&mut self) {
        self.0.broken.store(true, Ordering::SeqCst);
        self.0.wake();
    }
}

#[cfg(test)]
#[path = "../../../tests/runtime/units/compute/team.rs"]
mod tests;
