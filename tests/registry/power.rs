//! A store that is cut off at any write, and one whose disk is full.

use divisi_registry::store::{Store, StoreContents};
use proptest::prelude::*;

use crate::common::model;
use crate::journal::{Journal, Step};

/// A store's history: every step, and after how many of them which contents were confirmed.
struct History {
    steps: Vec<Step>,
    confirmed: Vec<(usize, StoreContents)>,
}

fn history() -> History {
    let journal = Journal::default();
    let store = Store::with_backend(journal.clone()).expect("makes a store");
    let mut confirmed = Vec::new();
    let mut confirm = |store: &Store| {
        confirmed.push((journal.steps().len(), store.contents().expect("contents")));
    };
    confirm(&store);
    for (task, number) in [("digits", 1), ("letters", 2), ("digits", 3)] {
        store
            .register(task, &model("a", number, 40))
            .expect("registers");
        confirm(&store);
    }
    store.unregister("letters", &[]).expect("forgets");
    confirm(&store);
    drop(store);
    History {
        steps: journal.steps(),
        confirmed,
    }
}

impl History {
    /// Whether these are the contents that were confirmed last, or those that were being written.
    fn allows(&self, steps: usize, found: &StoreContents) -> bool {
        let last = self.confirmed.iter().rposition(|(at, _)| *at <= steps);
        let last = last.expect("after the store was made");
        let next = self.confirmed.get(last + 1);
        *found == self.confirmed[last].1 || next.is_some_and(|(_, next)| found == next)
    }
}

#[test]
fn cut_off_after_any_write_a_store_opens_with_all_that_was_confirmed() {
    let history = history();
    let first = history.confirmed[0].0;
    for steps in first..=history.steps.len() {
        let cut = Journal::after(&history.steps[..steps]);
        let store =
            Store::with_backend(cut).unwrap_or_else(|why| panic!("after {steps} steps: {why}"));
        let found = store.contents().expect("contents");
        assert!(
            history.allows(steps, &found),
            "after {steps} steps: {found:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn without_power_any_writes_since_the_last_sync_may_be_lost(
        cut in any::<prop::sample::Index>(),
        lost in any::<u64>(),
    ) {
        let history = history();
        let first = history.confirmed[0].0;
        let steps = first + cut.index(history.steps.len() - first + 1);
        let done = &history.steps[..steps];
        let synced = done.iter().rposition(|step| matches!(step, Step::Synced));
        let (kept, open) = done.split_at(synced.map_or(0, |at| at + 1));
        let some = open.iter().enumerate().filter(|(at, _)| lost >> (at % 64) & 1 == 0);
        let some: Vec<Step> = kept.iter().chain(some.map(|(_, step)| step)).cloned().collect();
        let store = Store::with_backend(Journal::after(&some));
        let found = store.expect("opens").contents().expect("contents");
        prop_assert!(history.allows(steps, &found));
    }
}

#[test]
fn a_disk_that_is_full_at_any_write_is_told_of_and_loses_nothing() {
    let journal = Journal::default();
    let store = Store::with_backend(journal.clone()).expect("makes a store");
    store
        .register("digits", &model("a", 1, 40))
        .expect("registers");
    let before = store.contents().expect("contents");
    drop(store);
    let bytes = journal.bytes();
    let mut refusals = 0;
    for room in 0.. {
        let full = Journal::of(bytes.clone());
        full.set_room(room);
        let opened = Store::with_backend(full.clone());
        let done = opened.and_then(|store| store.register("letters", &model("b", 2, 400)));
        let store = Store::with_backend(Journal::of(full.bytes())).expect("opens with room again");
        let found = store.contents().expect("contents");
        match done {
            Err(why) => {
                assert_eq!(why.code(), "store_full", "room for {room}: {why}");
                assert_eq!(
                    found.tasks["digits"], before.tasks["digits"],
                    "room for {room}"
                );
                refusals += 1;
            }
            Ok(()) => {
                assert_eq!(found.tasks.len(), 2, "what was confirmed is there");
                break;
            }
        }
    }
    assert!(refusals > 5, "only {refusals}");
}
