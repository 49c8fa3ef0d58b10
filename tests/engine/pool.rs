//! The pool: slots are taken and freed exactly when due.

use divisi_engine::serving::{PoolIndex, Slice};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Take(usize),
    /// Release one of the parts still held.
    Give(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1usize..40).prop_map(Step::Take),
        (0usize..50).prop_map(Step::Give)
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn no_slot_is_ever_held_twice_and_none_is_lost(steps in steps()) {
        let mut pool = PoolIndex::new(5, 8);
        let mut held: Vec<Slice> = Vec::new();
        for step in steps {
            match step {
                Step::Take(n) => match pool.allocate(n) {
                    Some(slices) => {
                        prop_assert_eq!(slices.iter().map(|s| s.len).sum::<usize>(), n);
                        held.extend(slices);
                    }
                    None => prop_assert!(n > pool.available()),
                },
                Step::Give(i) if !held.is_empty() => {
                    let slice = held.swap_remove(i % held.len());
                    pool.release(slice.extent, slice.len);
                }
                Step::Give(_) => {}
            }
            let mut seen = [[false; 8]; 5];
            for s in &held {
                for slot in &mut seen[s.extent][s.slot..s.slot + s.len] {
                    prop_assert!(!std::mem::replace(slot, true));
                }
            }
            prop_assert_eq!(pool.live(), held.iter().map(|s| s.len).sum::<usize>());
        }
        for slice in held {
            pool.release(slice.extent, slice.len);
        }
        prop_assert_eq!(pool.available(), pool.capacity());
    }
}

#[test]
fn small_requests_are_packed_into_one_extent() {
    let mut pool = PoolIndex::new(2, 8);
    let extents: Vec<usize> = (0..8)
        .map(|_| pool.allocate(1).expect("room")[0].extent)
        .collect();
    assert!(extents.iter().all(|e| *e == extents[0]));
}
