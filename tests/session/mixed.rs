//! Changes of every origin while clients ask: no request is lost or answered by another model.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use divisi_engine::changes::{ChangeOrigin, Changes, PolicyChange};
use divisi_engine::deployment::Handover;
use divisi_model::catalogue::NewEntry;
use divisi_model::codes::{Code, Coded};
use divisi_model::ensemble::PolicyKind;
use divisi_session::ReloadState;

use crate::bookcase::*;
use crate::wait::wait_until;

const CHANGES: u64 = 140;

/// A matrix next to the running one.
fn neighbour(changes: &Changes, at: u64) -> divisi_model::allocation::Matrix {
    let neighbours = changes.running().engine.setup().matrix.neighbours();
    neighbours[at as usize % neighbours.len()].clone()
}

/// A scaling policy places the models otherwise.
fn follow_load(changes: &Changes, at: u64) {
    let running = changes.running();
    let entries = running.catalogue.entries().iter();
    let entries: Vec<NewEntry> = entries.map(Into::into).collect();
    let served = changes.serve(&entries, &neighbour(changes, at), PolicyChange::default());
    served.expect("it fits");
}

/// Edits the running setup as an operator does.
fn edit(changes: &Changes, at: u64) {
    let setup = changes.running().engine.setup();
    let to = match at.is_multiple_of(2) {
        true => setup.with_matrix(neighbour(changes, at)),
        false => setup.with_policy(match setup.policy {
            PolicyKind::NoWait => "opt-wait:1ms".parse().expect("a policy"),
            _ => PolicyKind::NoWait,
        }),
    };
    let plan = changes.plan(&to).expect("it fits");
    changes
        .make(plan, Handover::Beside)
        .expect("nothing else is under way");
}

fn undo(changes: &Changes) {
    match changes.undo() {
        Ok(()) => wait_until("it is undone", || {
            let reload = changes.status().reload;
            reload.is_none_or(|reload| reload.state != ReloadState::Running)
        }),
        Err(refused) => assert_eq!(refused.code(), Code::NoUndo),
    }
}

fn change(changes: &Changes, case: &Bookcase, at: u64) {
    let is_served = changes.running().catalogue.find("b", None).is_some();
    match at % 6 {
        0 => {
            case.put(entry("a", 2 + at, &network("a", 8, 3)));
            changes.load("a").expect("loads");
        }
        1 if is_served => changes.unload("b", false).expect("it can leave"),
        2 => changes.load("b").expect("loads"),
        3 => follow_load(changes, at),
        4 => edit(changes, at),
        _ => undo(changes),
    }
}

#[test]
fn changes_of_every_origin_lose_no_request() {
    let case = Bookcase::of(
        [("a", 3), ("b", 5)].map(|(name, answers)| entry(name, 1, &network(name, 8, answers))),
    );
    let changes = start(&case, &["a", "b"], ROOM);
    let (over, answers) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    assert_eq!(ask(&changes, "a"), 3);
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for at in 0..CHANGES {
            change(&changes, &case, at);
        }
        let answered = answers.load(Ordering::Relaxed);
        wait_until("more are answered", || {
            answers.load(Ordering::Relaxed) > answered
        });
        over.store(true, Ordering::Relaxed);
    });
    let history = Arc::clone(&changes).status().history;
    let follows =
        |entry: &divisi_session::HistoryEntry| entry.why == ChangeOrigin::Policy.to_string();
    assert!(history.iter().any(follows), "{history:?}");
}
