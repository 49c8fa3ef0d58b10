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
#[allow(clippy::panic, reason = "tests")]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;
    use std::thread;

    use super::PhaseBarrier;
    use crate::lock::lock;

    /// Returns the result of `run` on each of `threads` threads, `None` if it panics.
    fn together(threads: usize, run: impl Fn(usize) -> bool + Sync) -> Vec<Option<bool>> {
        let run = &run;
        thread::scope(|scope| {
            let each = (0..threads)
                .map(|i| scope.spawn(move || catch_unwind(AssertUnwindSafe(|| run(i))).ok()))
                .collect::<Vec<_>>();
            each.into_iter().filter_map(|t| t.join().ok()).collect()
        })
    }

    #[test]
    fn a_task_runs_once_and_after_all_of_the_phase_before() {
        let tasks = [3, 1, 7, 2, 12];
        let mut progress = PhaseBarrier::default();
        for threads in [1, 2, 5] {
            progress.begin(tasks.len(), threads);
            let ran = Mutex::new(Vec::new());
            let ends = together(threads, |thread| {
                let mut phases = tasks.iter().enumerate();
                phases.all(|(phase, &tasks)| {
                    progress.run(thread, phase, tasks, |_| lock(&ran).push(phase))
                })
            });
            assert_eq!(ends, vec![Some(true); threads]);
            let expected = (0..tasks.len()).flat_map(|phase| vec![phase; tasks[phase]]);
            assert_eq!(*lock(&ran), expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_thread_takes_its_own_share_and_then_what_others_left() {
        let mut progress = PhaseBarrier::default();
        progress.begin(1, 3);
        let mut ran = Vec::new();
        progress.run(1, 0, 7, |task| ran.push(task));
        assert_eq!(ran, [2, 3, 4, 5, 6, 0, 1]);
    }

    #[test]
    fn a_panic_in_a_task_ends_the_run_of_every_thread() {
        let mut progress = PhaseBarrier::default();
        for threads in [1, 2, 5] {
            progress.begin(2, threads);
            let mut ends = together(threads, |thread| {
                let one = progress.run(thread, 0, 9, |task| assert!(task != 4, "task 4"));
                one && progress.run(thread, 1, 9, |_| panic!("a phase after one that broke"))
            });
            ends.sort();
            let mut expected = vec![Some(false); threads];
            expected[0] = None;
            assert_eq!(ends, expected, "{threads} threads");
        }
    }
}
