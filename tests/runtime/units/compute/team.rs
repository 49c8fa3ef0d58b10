//! Unit tests of `src/runtime/compute/team.rs`.

#![allow(clippy::panic, reason = "tests")]

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
