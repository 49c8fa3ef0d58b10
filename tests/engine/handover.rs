//! Changes of the models as changes of what runs: planned, applied, undone; and where old and new do not
//! fit beside each other, the old engine first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use divisi_engine::changes::{ChangeOrigin, Changes, ReloadState};
use divisi_engine::deployment::Handover;
use divisi_model::codes::{Code, Coded};

use crate::bookcase::*;
use crate::wait::wait_for;

#[test]
fn a_plan_changes_nothing_and_says_which_models_columns_and_bytes_would() {
    let case = Bookcase::of([
        entry("a", 1, &network("a", 8, 3)),
        entry("b", 1, &network("b", 8, 5)),
    ]);
    let changes = start(&case, &["a"], ROOM);
    let plan = changes.plan_change(&load("b")).expect("it fits");
    assert_eq!(served(&changes), ["a 1"], "nothing has changed");
    let preview = plan.preview();
    assert_eq!(preview.came, ["b version 1"]);
    assert_eq!(preview.columns_came, ["b"]);
    assert_eq!(
        preview.went.len() + preview.columns_went.len() + preview.moved.len(),
        0
    );
    assert_eq!(preview.not_beside, None);
    for device in &preview.memory {
        let during = device.during.expect("both fit");
        assert!(
            device.now < device.after && device.after <= during,
            "{device:?}"
        );
        assert!(during <= device.bytes, "{device:?}");
    }
    let applied = changes.make(plan, Handover::Beside).expect("applies");
    assert_eq!(
        (served(&changes), applied.gap),
        (vec!["a 1".into(), "b 1".into()], None)
    );

    case.put(entry("a", 2, &network("a", 8, 4)));
    let preview = changes.plan_change(&load("a")).expect("it fits").preview();
    assert_eq!(
        (preview.came, preview.went),
        (vec!["a version 2".into()], vec!["a version 1".into()])
    );
}

#[test]
fn a_plan_that_something_else_overtook_is_refused() {
    let case = Bookcase::of([
        entry("a", 1, &network("a", 8, 3)),
        entry("b", 1, &network("b", 8, 5)),
    ]);
    let changes = start(&case, &["a"], ROOM);
    let plan = changes.plan_change(&load("b")).expect("it fits");
    changes.load("b").expect("loads");
    let refused = changes.make(plan, Handover::Beside).expect_err("is stale");
    assert_eq!(refused.code(), Code::PlanStale);
    assert_eq!(changes.running().number, 1);
}

/// Waits until what was begun is made.
fn made(changes: &Changes) {
    wait_for(|| match changes.status().reload {
        Some(reload) if reload.state == ReloadState::Done => Ok(()),
        other => Err(other),
    });
}

#[test]
fn an_undo_brings_models_and_matrix_back_step_by_step_and_a_redo_takes_them_again() {
    let case = Bookcase::of([
        entry("a", 1, &network("a", 8, 3)),
        entry("b", 1, &network("b", 8, 5)),
    ]);
    let changes = start(&case, &["a"], ROOM);
    let refused = changes.undo().expect_err("nothing to undo");
    assert_eq!(refused.code(), Code::NoUndo);
    let setup = changes.running().engine.setup();
    let (cell, _) = setup.matrix.workers().next().expect("a worker");
    let largest = setup.matrix.frame().batch_sizes.largest();
    let tuned = setup
        .matrix
        .with_entry(cell, Some(largest))
        .expect("a matrix");
    let int8 = "int8".parse().expect("a precision");
    let tuned = setup.with_matrix(tuned).with_precision(cell.member, int8);
    let applied = changes.apply(&tuned, None, ChangeOrigin::Applied);
    applied.expect("applies");
    made(&changes);
    let tuned = changes.running().engine.setup();

    case.put(entry("a", 2, &network("a", 8, 4)));
    changes.load("a").expect("loads");
    changes.load("b").expect("loads");
    let undo = || {
        changes.undo().expect("is begun");
        made(&changes);
    };
    undo();
    assert_eq!(served(&changes), ["a 2"]);
    undo();
    assert_eq!(
        (served(&changes), ask(&changes, "a")),
        (vec!["a 1".into()], 3)
    );
    assert_eq!(changes.running().engine.setup(), tuned);
    undo();
    assert_eq!(changes.running().engine.setup(), setup);
    for _ in 0..2 {
        changes.redo().expect("is begun");
        made(&changes);
    }
    assert_eq!(
        (served(&changes), ask(&changes, "a")),
        (vec!["a 2".into()], 4)
    );
}

#[test]
fn a_version_that_was_taken_back_stays_away_until_it_is_asked_for() {
    let case = Bookcase::of([
        entry("a", 1, &network("a", 8, 3)),
        entry("b", 1, &network("b", 8, 5)),
    ]);
    let changes = start(&case, &["a", "b"], ROOM);
    case.put(entry("a", 2, &network("a", 8, 4)));
    changes.refresh().expect("is read");
    assert_eq!(served(&changes), ["a 2", "b 1"]);
    changes.undo().expect("is begun");
    made(&changes);
    changes.refresh().expect("is read");
    assert_eq!(served(&changes), ["a 1", "b 1"], "it was taken back");
    case.put(entry("b", 2, &network("b", 8, 6)));
    changes.load("b").expect("loads");
    assert_eq!(served(&changes), ["a 1", "b 2"]);
    changes.load("a").expect("loads");
    assert_eq!(served(&changes), ["a 2", "b 2"], "it was asked for");
}

#[test]
fn where_both_do_not_fit_the_old_one_ends_first_and_whoever_asks_meanwhile_waits() {
    let versions = [
        entry("a", 1, &network("a", 64, 3)),
        entry("a", 2, &network("a", 65, 4)),
    ];
    let case = Bookcase::of([versions[0].clone()]);
    let memory = tight(&case, &versions[1]);
    case.put(versions[0].clone());
    let changes = start(&case, &["a"], memory);
    let over = Arc::new(AtomicBool::new(false));
    let asked = Arc::new(AtomicU64::new(0));
    let clients = (0..3).map(|_| {
        let (changes, over, asked) = (changes.clone(), over.clone(), asked.clone());
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                assert!([3, 4].contains(&ask(&changes, "a")));
                asked.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    for change in 0..6 {
        case.put(versions[(change + 1) % 2].clone());
        let plan = changes.plan_change(&load("a")).expect("it fits alone");
        let why = plan.preview().not_beside.expect("it does not fit beside");
        assert!(why.contains("free next to the running models"), "{why}");
        let refused = changes
            .make(plan, Handover::Beside)
            .expect_err("does not fit");
        assert_eq!(refused.code(), Code::DoesNotFit);
        let plan = changes.plan_change(&load("a")).expect("it fits alone");
        let applied = changes.make(plan, Handover::OldFirst).expect("applies");
        assert!(applied.gap.expect("is measured") > Duration::ZERO);
        let before = asked.load(Ordering::Relaxed);
        wait_for(|| match asked.load(Ordering::Relaxed) {
            now if now > before => Ok(()),
            now => Err(now),
        });
    }
    over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().expect("nothing was lost");
    }
    assert_eq!(changes.running().number, 6);
    assert!(!changes.deployment().is_between());
}

#[test]
fn nobody_waits_where_an_engine_runs() {
    let case = Bookcase::of([entry("a", 1, &network("a", 8, 3))]);
    let changes = start(&case, &["a"], ROOM);
    assert!(
        !changes
            .deployment()
            .wait_for_engine(Box::new(|| panic!("nobody waits")))
    );
}

#[test]
fn models_that_do_not_fit_at_all_are_refused_with_those_without_which_they_would() {
    let case = Bookcase::of([
        entry("a", 1, &network("a", 4096, 3)),
        entry("b", 1, &network("b", 4096, 5)),
    ]);
    let roomy = start(&case, &["a"], ROOM);
    let plan = roomy.plan_change(&load("b")).expect("it fits");
    let memory = plan.preview().memory[0].after - 1;
    let changes = start(&case, &["a"], memory);
    let refused = changes.plan_change(&load("b")).expect_err("does not fit");
    assert_eq!(refused.code(), Code::DoesNotFit);
    let words = refused.to_string();
    assert!(words.ends_with("it fits without `a`"), "{words}");
    assert_eq!(served(&changes), ["a 1"]);
}
