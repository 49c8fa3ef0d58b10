//! Unit tests of `src/tasks/routing/due_work.rs`.

use std::time::Duration;

use super::{DueTime, DueWork};

const MILLI: u64 = 1_000_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn work() -> DueWork {
    DueWork::new(ms(2), ms(100))
}

#[test]
fn work_goes_before_what_is_due_later_and_in_the_same_slot() {
    let mut work = work();
    for (due, millis) in [(100, 1), (10, 2), (50, 4), (11, 8), (1500, 16)] {
        work.add(ms(due), millis * MILLI, 0);
    }
    let before = [0, 9, 10, 11, 50, 99, 101, 1600];
    let found = before.map(|due| work.work_before(ms(due)) / MILLI);
    assert_eq!(found, [0, 0, 10, 10, 14, 14, 15, 31]);
    assert_eq!(work.total() / MILLI, 31);
}

#[test]
fn what_is_overdue_goes_first_until_it_is_taken_off() {
    let mut work = work();
    let slots = [(10, 2), (50, 4)].map(|(due, millis)| {
        let slot = work.add(ms(due), millis * MILLI, 0);
        (slot, millis * MILLI)
    });
    work.pass(ms(30));
    assert_eq!(work.work_before(ms(30)) / MILLI, 2);
    work.pass(ms(60_000));
    assert_eq!(work.work_before(ms(60_000)) / MILLI, 6);
    for (slot, taken) in slots {
        work.remove(slot, taken);
    }
    assert_eq!(work.total(), 0);
}

#[test]
fn as_much_may_go_before_queries_as_leaves_them_in_time() {
    let mut work = work();
    // Two queries of 30 ms each have a deadline at 99 ms and are answered 10 ms after their
    // batch begins: the last one may wait for 90 ms, to the end of its slot.
    for _ in 0..2 {
        work.add(ms(99), 30 * MILLI, 10 * MILLI);
    }
    let slack = |work: &DueWork, due| work.slack(ms(due), 0, 1.0) / MILLI as i64;
    assert_eq!(slack(&work, 50), 60);
    assert_eq!(
        work.slack(ms(50), 0, 0.5) / MILLI as i64,
        15,
        "of a slower device"
    );
    let first = work.slack(ms(50), 40 * MILLI, 1.0);
    assert_eq!(first / MILLI as i64, 20, "what goes before all");
    assert_eq!(work.slack(ms(99), 0, 1.0), i64::MAX, "it goes behind them");
    work.pass(ms(90));
    assert_eq!(slack(&work, 92), -30);
}

#[test]
fn what_came_later_and_went_before_is_known_even_once_it_is_overdue() {
    let mut work = work();
    let slot = work.add(ms(100), MILLI, 0);
    assert_eq!(slot, DueTime::At(100 * MILLI));
    let known = work.entered_before(slot);
    let overtaken = |work: &DueWork| (work.entered_before(slot) - known) / MILLI;
    work.add(ms(40), 3 * MILLI, 0);
    work.add(ms(100), 5 * MILLI, 0);
    work.add(ms(140), 7 * MILLI, 0);
    assert_eq!(overtaken(&work), 3);
    for now in [50, 101, 120, 1000] {
        work.pass(ms(now));
        assert_eq!(overtaken(&work), 3, "at {now} ms");
    }
}

#[test]
fn slots_grow_with_the_latest_time_and_are_short_again_once_nothing_waits() {
    let mut work = work();
    let due = [(10, 1), (21, 2), (40_000, 4), (9, 8), (90_000_000, 16)];
    let added = due.map(|(due, millis)| (work.add(ms(due), millis * MILLI, 0), millis));
    let before = [10, 39_000, 41_000, 80_000_000].map(|due| work.work_before(ms(due)) / MILLI);
    // Deadlines in 40 s need slots of 64 ms; deadlines in years are not distinguished.
    assert_eq!(before, [11, 11, 15, 31]);
    work.pass(ms(200));
    assert_eq!(work.work_before(ms(200)) / MILLI, 11, "it is overdue");
    for (due, millis) in added {
        work.remove(due, millis * MILLI);
    }
    assert_eq!(work.total(), 0);
    for (due, millis) in [(210, 1), (213, 2)] {
        work.add(ms(due), millis * MILLI, 0);
    }
    assert_eq!(work.work_before(ms(211)) / MILLI, 1);
}

#[test]
fn what_is_taken_off_is_what_was_added_however_slots_grew() {
    let mut work = work();
    let mut added = Vec::new();
    // Deadlines from a linear congruential generator.
    let mut state = 1_u64;
    for step in 0..20_000_u64 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let within = (state >> 33) % [20, 500, 5_000, 100_000][(step / 500 % 4) as usize];
        work.pass(ms(step / 4));
        let at = work.add(ms(step / 4 + within), state % MILLI, 0);
        added.push((at, state % MILLI));
        if step % 3 != 0 {
            let (at, taken) = added.swap_remove((state >> 20) as usize % added.len());
            work.remove(at, taken);
        }
        let left: u64 = added.iter().map(|(_, work)| work).sum();
        assert_eq!(work.total(), left, "after step {step}");
        if step % 2000 == 1999 {
            added
                .drain(..)
                .for_each(|(at, taken)| work.remove(at, taken));
        }
    }
}
