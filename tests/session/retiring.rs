//! Models that are replaced while requests to them are under way: these end on the version that they
//! began with, and the next change waits for them.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use divisi_engine::changes::Changes;
use divisi_engine::deployment::{Generation, Handover};
use divisi_engine::serving::{EngineOptions, Failure, PipelineIndex, Request, Staged};
use divisi_session::{LiveSession, Session};

use crate::bookcase::{Bookcase, ROOM, entry, load, network, served, start_with};
use crate::wait::{wait_for, wait_until};

/// Serves version 1 of `a` by engines that wait for nothing where they are left. Version 2 is there.
fn serve() -> (Arc<Changes>, Arc<Bookcase>) {
    let case = Bookcase::of([entry("a", 1, &network("a", 8, 3))]);
    let options = EngineOptions {
        drain_limit: Duration::ZERO,
        ..EngineOptions::default()
    };
    let changes = start_with(&case, &["a"], ROOM, options);
    case.put(entry("a", 2, &network("a", 8, 4)));
    (changes, case)
}

/// A request that is let in and goes on once it is released.
fn begin(generation: &Generation) -> Staged {
    let request = Request::new(&[0.1, 0.2, 0.3, 0.4]).to(PipelineIndex(0));
    generation.engine.stage(request).expect("let in")
}

/// Lets a request go on; returns the numbers of its answer.
fn end(request: Staged) -> usize {
    let answer = request.release().wait().expect("is answered");
    answer.rows().map(<[f32]>::len).sum()
}

#[test]
fn a_request_under_way_ends_on_the_version_that_it_began_with() {
    let (changes, _case) = serve();
    let request = begin(&changes.running());
    changes.load("a").expect("loads");
    assert_eq!(served(&changes), ["a 2"]);
    assert_eq!(end(request), 3);
}

#[test]
fn an_engine_that_ends_first_answers_what_it_began() {
    let (changes, _case) = serve();
    let request = begin(&changes.running());
    let plan = changes.plan_change(&load("a")).expect("it fits");
    let changed = Arc::clone(&changes);
    let change = thread::spawn(move || changed.make(plan, Handover::OldFirst));
    wait_until("the old engine ends", || changes.deployment().is_between());
    assert_eq!(end(request), 3);
    change.join().expect("no panic").expect("applies");
    assert_eq!(served(&changes), ["a 2"]);
}

#[test]
fn the_next_change_waits_for_requests_of_the_one_before_and_says_so() {
    let (changes, case) = serve();
    let request = begin(&changes.running());
    changes.load("a").expect("loads");
    case.put(entry("a", 3, &network("a", 8, 5)));
    let changed = Arc::clone(&changes);
    let change = thread::spawn(move || changed.load("a"));
    wait_for(|| {
        let notices = changes.deployment().take_notices();
        let is_told = notices.iter().any(|n| n.contains("the change waits"));
        if is_told { Ok(()) } else { Err(notices) }
    });
    assert_eq!(served(&changes), ["a 2"], "two engines, never three");
    assert_eq!(end(request), 3);
    change.join().expect("no panic").expect("loads");
    assert_eq!(served(&changes), ["a 3"]);
}

#[test]
fn who_watches_the_next_engine_leaves_the_one_before_what_it_began() {
    let (changes, _case) = serve();
    let mut session = LiveSession::of_changes(Arc::clone(&changes), None);
    let before = changes.running();
    let request = begin(&before);
    changes.load("a").expect("loads");
    assert_eq!(session.snapshot().generation, 1);
    wait_for(|| match Arc::strong_count(&before.engine) {
        1 => Ok(()),
        watching => Err(watching),
    });
    assert_eq!(end(request), 3);
}

#[test]
fn an_operator_who_leaves_does_not_wait_for_engines_of_before() {
    let (changes, _case) = serve();
    let mut session = LiveSession::of_changes(Arc::clone(&changes), None);
    let request = begin(&changes.running());
    changes.load("a").expect("loads");
    assert_eq!(session.snapshot().generation, 1);
    drop(session);
    drop(changes);
    let outcome = request.release().wait();
    assert!(matches!(outcome, Err(Failure::Stopped(_))), "{outcome:?}");
}
