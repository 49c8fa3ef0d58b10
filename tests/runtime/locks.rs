//! Locks are taken in the order of their ranks, and it is noticed where they are not.

use std::panic::{AssertUnwindSafe, catch_unwind};

use divisi_runtime::lock::{LockRank, Ranked, RankedRwLock, violations};

const OURS: &str = "a lock of these tests";

struct First;

impl LockRank for First {
    const ORDER: u8 = 1;
    const NAME: &'static str = OURS;
}

struct Second;

impl LockRank for Second {
    const ORDER: u8 = 2;
    const NAME: &'static str = OURS;
}

#[test]
fn locks_are_taken_in_ascending_order_again_and_again() {
    let (first, second) = (Ranked::<First, _>::new(1), Ranked::<Second, i32>::default());
    for _ in 0..3 {
        let outer = first.lock();
        *second.lock() += *outer;
        drop(outer);
        // In any order, where one is given back before the other is taken.
        assert!(*second.lock() > 0);
        assert_eq!(*first.lock(), 1);
    }
}

#[test]
fn guards_may_be_given_back_in_any_order() {
    let (first, second) = (Ranked::<First, _>::new(()), Ranked::<Second, _>::new(()));
    let outer = first.lock();
    let inner = second.try_lock().expect("free");
    drop(outer);
    // The higher one is still held.
    assert!(catch_unwind(AssertUnwindSafe(|| drop(first.lock()))).is_err());
    drop(inner);
    drop(first.lock());
}

#[test]
fn what_breaks_the_order_panics_and_is_told() {
    let (first, second) = (Ranked::<First, _>::new(()), Ranked::<Second, _>::new(()));
    let inner = second.lock();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(first.lock()))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(first.try_lock()))).is_err());
    drop(inner);
    assert!(violations().iter().any(|text| text.contains(OURS)));
    drop(first.lock());
}

#[test]
fn locks_that_readers_share_are_taken_in_the_same_order() {
    let first = RankedRwLock::<First, _>::new(());
    let second = RankedRwLock::<Second, i32>::default();
    let outer = first.read();
    *second.write() += 1;
    drop(outer);
    let inner = second.read();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(first.read()))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(first.write()))).is_err());
    drop(inner);
    drop(first.write());
}
