//! Threads that run the phases of a network together.
//!
//! Each thread goes through all phases in order. It takes tasks of a phase while there are
//! any, then waits for those that other threads still run. No thread waits for one that has
//! not begun, so a thread that the system suspends delays a batch by one task at most, and two
//! batches on one pool cannot wait for each other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The progress of the threads, and the barrier between phases.
#[derive(Debug, Default)]
pub(super) struct PhaseBarrier {
    phases: Vec<PhaseCounters>,
    /// Set by a thread that panics, so that no thread waits for its tasks.
    broken: AtomicBool,
}

#[derive(Debug, Default)]
struct PhaseCounters {
    taken: AtomicUsize,
    done: AtomicUsize,
}

/// Rounds of spinning before a waiting thread yields to others.
const SPINS: usize = 2_000;

impl PhaseBarrier {
    /// Begins a run of `phases` phases.
    pub(super) fn begin(&mut self, phases: usize) {
        if self.phases.len() < phases {
            self.phases.resize_with(phases, PhaseCounters::default);
        }
        for counters in &mut self.phases[..phases] {
            *counters.taken.get_mut() = 0;
            *counters.done.get_mut() = 0;
        }
        *self.broken.get_mut() = false;
    }

    /// Runs tasks of phase `phase` until none of its `tasks` is left, and returns once all are
    /// done. Returns `false` if another thread panicked.
    pub(super) fn run(&self, phase: usize, tasks: usize, mut task: impl FnMut(usize)) -> bool {
        let counters = &self.phases[phase];
        let alarm = PanicAlarm(&self.broken);
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

    fn wait(&self, counters: &PhaseCounters, tasks: usize) -> bool {
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

/// Notifies the other threads when its thread panics.
struct PanicAlarm<'a>(&'a AtomicBool);

impl Drop for PanicAlarm<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
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
    fn together(threads: usize, run: impl Fn() -> bool + Sync) -> Vec<Option<bool>> {
        thread::scope(|scope| {
            let each = (0..threads)
                .map(|_| scope.spawn(|| catch_unwind(AssertUnwindSafe(&run)).ok()))
                .collect::<Vec<_>>();
            each.into_iter().filter_map(|t| t.join().ok()).collect()
        })
    }

    #[test]
    fn a_task_runs_once_and_after_all_of_the_phase_before() {
        let tasks = [3, 1, 7, 2, 12];
        let mut progress = PhaseBarrier::default();
        for threads in [1, 2, 5] {
            progress.begin(tasks.len());
            let ran = Mutex::new(Vec::new());
            let ends = together(threads, || {
                let mut phases = tasks.iter().enumerate();
                phases.all(|(phase, &tasks)| progress.run(phase, tasks, |_| lock(&ran).push(phase)))
            });
            assert_eq!(ends, vec![Some(true); threads]);
            let expected = (0..tasks.len()).flat_map(|phase| vec![phase; tasks[phase]]);
            assert_eq!(*lock(&ran), expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_in_a_task_ends_the_run_of_every_thread() {
        let mut progress = PhaseBarrier::default();
        for threads in [1, 2, 5] {
            progress.begin(2);
            let mut ends = together(threads, || {
                let one = progress.run(0, 9, |task| assert!(task != 4, "task 4"));
                one && progress.run(1, 9, |_| panic!("a phase after one that broke"))
            });
            ends.sort();
            let mut expected = vec![Some(false); threads];
            expected[0] = None;
            assert_eq!(ends, expected, "{threads} threads");
        }
    }
}
