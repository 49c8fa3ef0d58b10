//! Unit tests of `src/tasks/routing/overload.rs`.

#![allow(clippy::expect_used, reason = "tests fail by it")]

use super::super::streams::QueryStreams;
use super::super::terms::KEPT;
use super::*;
use crate::served::TaskQuery;
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::variants::TaskIndex;

const DEVICE: DeviceIndex = DeviceIndex::new(0);
const SECOND: Duration = Duration::from_secs(1);

/// Returns an offer of a price in microseconds and a latency in milliseconds.
fn offer(micros: u64, millis: u64) -> Option<StreamOffer> {
    Some(StreamOffer {
        price: 1e3 * micros as f64,
        latency: Duration::from_millis(millis),
        devices: vec![(DEVICE, 1.0)],
    })
}

/// Returns the numbers of two streams.
fn streams() -> [StreamIndex; 2] {
    let mut streams = QueryStreams::default();
    [1, 2].map(|millis| {
        let goals = QueryGoals {
            latency: LatencyGoal::new(Duration::from_millis(millis)).ok(),
            ..QueryGoals::default()
        };
        let query = TaskQuery {
            task: TaskIndex(0),
            goals: &goals,
            samples: 1,
            priority: 0,
        };
        streams.arrive(query, Duration::ZERO)
    })
}

/// Returns the terms after ten seconds of 1 000 queries a second of each stream. Queries of the
/// first stream find room.
fn terms(offers: [Option<StreamOffer>; 2], found_room: bool) -> OverloadTerms {
    let mut terms = OverloadTerms::default();
    let [first, second] = streams();
    for at in 1..=40 {
        for _ in 0..250 {
            terms.arrived(first, 1, true);
            terms.arrived(second, 1, found_room);
        }
        terms.review(at * REVIEW, &offers);
    }
    terms
}

#[test]
fn nothing_is_left_to_others_while_queries_find_room() {
    let terms = terms([offer(100, 20), offer(1000, 50)], true);
    assert!(streams().iter().all(|at| terms.terms(Some(*at)).is_none()));
}

#[test]
fn expensive_queries_leave_the_time_of_cheap_ones_which_go_ahead() {
    let terms = terms([offer(100, 20), offer(1000, 50)], false);
    let [cheap, expensive] = streams().map(|at| terms.terms(Some(at)).expect("terms"));
    assert!(cheap.hurries && !expensive.hurries);
    assert_eq!(cheap.left(DEVICE, SECOND), 0);
    // 1 000 queries of 100 us a second, and three standard deviations of their number.
    let left = expensive.left(DEVICE, SECOND) as f64 / 1e9;
    let expected = 0.1 + 3.0 * 1000_f64.sqrt() * 1e-4;
    assert!((left - expected).abs() < 1e-3, "{left} {expected}");
}

#[test]
fn cheap_queries_that_need_most_of_a_device_do_not_go_ahead() {
    let terms = terms([offer(800, 20), offer(2000, 50)], false);
    let [cheap, _] = streams().map(|at| terms.terms(Some(at)).expect("terms"));
    assert!(!cheap.hurries);
}

#[test]
fn every_stream_keeps_a_small_share() {
    let terms = terms([offer(2000, 20), offer(4000, 50)], false);
    let [_, expensive] = streams();
    let devices = [(DEVICE, 1.0)];
    let kept = |work| terms.is_kept(Some(expensive), &devices, work, SECOND);
    let most = SECOND.mul_f64(KEPT / 2.0);
    assert!(kept(most) && !kept(most + Duration::from_micros(1)));
}
