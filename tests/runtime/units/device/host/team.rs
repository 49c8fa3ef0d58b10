//! Unit tests of `src/runtime/device/host/team.rs`.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use super::ThreadTeam;
use crate::lock::lock;

fn team(threads: usize) -> ThreadTeam {
    ThreadTeam::start(threads, || {}).expect("starts")
}

#[test]
fn each_thread_that_begins_has_its_own_number() {
    let team = team(3);
    let all = Barrier::new(3);
    let numbers = Mutex::new(Vec::new());
    team.run(|number| {
        all.wait();
        lock(&numbers).push(number);
    });
    let mut numbers = numbers.into_inner().expect("lock");
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2]);
}

#[test]
fn the_caller_waits_for_no_thread_that_has_not_begun() {
    let gate = Arc::new(Mutex::new(()));
    let held = lock(&gate);
    let begin = Arc::clone(&gate);
    let team = ThreadTeam::start(2, move || drop(lock(&begin))).expect("starts");
    let ran = AtomicUsize::new(0);
    team.run(|_| {
        ran.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(ran.into_inner(), 1);
    drop(held);
}

#[test]
fn work_that_borrows_is_over_before_it_ends() {
    let team = team(4);
    for round in 0..2_000_usize {
        let sum = AtomicUsize::new(0);
        let next = AtomicUsize::new(0);
        team.run(|_| {
            while next.fetch_add(1, Ordering::Relaxed) < 8 {
                sum.fetch_add(round, Ordering::Relaxed);
            }
        });
        assert_eq!(sum.into_inner(), 8 * round);
    }
}

#[test]
fn two_callers_of_one_team_both_finish_their_work() {
    let team = team(3);
    let both = |_| {
        for _ in 0..500 {
            let done = AtomicUsize::new(0);
            team.run(|_| {
                done.fetch_add(1, Ordering::Relaxed);
            });
            assert!(done.into_inner() >= 1);
        }
    };
    thread::scope(|scope| {
        let both = &both;
        scope.spawn(move || both(0));
        scope.spawn(move || both(1));
    });
}

#[test]
fn a_panic_of_any_thread_reaches_the_caller_and_the_team_goes_on() {
    let team = team(2);
    for broken in 0..2 {
        let all = Barrier::new(2);
        let run = || {
            team.run(|number| {
                all.wait();
                assert!(number != broken, "thread {broken}");
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }
    let all = Barrier::new(2);
    team.run(|_| {
        all.wait();
    });
}
