//! Engines that take no more requests: how long they wait for those that they began, and what becomes
//! of what is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use divisi_engine::serving::{
    DoorState, DrainLimits, DrainWait, Engine, EngineOptions, Failure, Request, WorkLeft,
};
use divisi_model::codes::Coded;

use crate::common::{digits, everywhere, fakes, two_devices};
use crate::wait::wait_until;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn left(requests: usize, samples: usize) -> WorkLeft {
    WorkLeft { requests, samples }
}

const LIMITS: DrainLimits = DrainLimits {
    whole: Duration::from_secs(100),
    still: Duration::from_secs(30),
};

#[test]
fn it_waits_for_what_goes_on_and_not_for_what_stands_still() {
    let mut drain = DrainWait::begin(seconds(7), LIMITS);
    assert!(drain.goes_on(seconds(7), left(2, 9)));
    assert!(drain.goes_on(seconds(36), left(2, 9)));
    // A part of a request is done: that is something.
    assert!(drain.goes_on(seconds(36), left(2, 5)));
    assert!(drain.goes_on(seconds(65), left(1, 1)));
    assert!(drain.goes_on(seconds(94), left(1, 1)));
    assert!(!drain.goes_on(seconds(95), left(1, 1)));
}

#[test]
fn it_ends_in_the_end_whatever_goes_on() {
    let mut drain = DrainWait::begin(Duration::ZERO, LIMITS);
    let mut goes_on = |at: u64| drain.goes_on(seconds(at), left(1, 200 - at as usize));
    assert!((0..100).all(&mut goes_on));
    assert!(!goes_on(100));
}

#[test]
fn it_ends_once_all_requests_are_over() {
    let mut drain = DrainWait::begin(Duration::ZERO, LIMITS);
    assert!(drain.goes_on(Duration::ZERO, left(1, 1)));
    assert!(!drain.goes_on(seconds(1), left(0, 1)));
}

#[test]
fn who_is_hurried_waits_no_longer_than_is_said_then() {
    let mut drain = DrainWait::begin(Duration::ZERO, LIMITS);
    drain.hurry(seconds(20), seconds(10));
    assert!(drain.goes_on(seconds(29), left(1, 1)));
    assert!(!drain.goes_on(seconds(30), left(1, 1)));
    let mut drain = DrainWait::begin(Duration::ZERO, LIMITS);
    drain.hurry(seconds(95), seconds(10));
    assert!(!drain.goes_on(seconds(100), left(1, 1)), "and never longer");
}

/// An engine that, where it is left, waits for nothing.
fn engine() -> Arc<Engine> {
    let (ensemble, devices) = (digits(), two_devices());
    let matrix = everywhere(&ensemble, &devices);
    let options = EngineOptions {
        drain_limit: Duration::ZERO,
        ..EngineOptions::default()
    };
    let factory = fakes(&ensemble);
    Arc::new(Engine::start(ensemble, devices, &matrix, factory, options).expect("starts"))
}

fn is_closed(engine: &Engine) -> bool {
    matches!(engine.telemetry().door(), DoorState::Closed(_))
}

#[test]
fn an_engine_that_another_follows_answers_what_it_began() {
    let engine = engine();
    let begun = engine.stage(Request::new(&[0.5; 64])).expect("let in");
    let retired = Arc::clone(&engine);
    let retires = thread::spawn(move || retired.retire(&AtomicBool::new(false)));
    wait_until("it takes no more", || is_closed(&engine));
    assert!(engine.submit(Request::new(&[0.5; 64])).is_err());
    let answer = begun.release().wait();
    assert_eq!(answer.expect("is answered").len(), 1);
    retires.join().expect("it ends");
}

#[test]
fn an_engine_that_is_left_meanwhile_ends_and_says_that_another_may_answer() {
    let engine = engine();
    let begun = engine.stage(Request::new(&[0.5; 64])).expect("let in");
    let hurried = Arc::new(AtomicBool::new(false));
    let (retired, hurry) = (Arc::clone(&engine), Arc::clone(&hurried));
    let retires = thread::spawn(move || retired.retire(&hurry));
    wait_until("it takes no more", || is_closed(&engine));
    hurried.store(true, Ordering::Release);
    retires.join().expect("it ends");
    let failure = begun.release().wait().expect_err("it was not answered");
    assert!(matches!(failure, Failure::Stopped(_)), "{failure}");
    assert_eq!((failure.code().http(), failure.code().grpc()), (503, 14));
    assert_eq!(engine.telemetry().pooled(), 0);
}
