//! Answers, lanes, weights.

use std::sync::atomic::Ordering;

use divisi_engine::serving::Request;

use crate::common::{reload, set_policy};
use crate::gpu_bed::programs::WEIGHTS;
use crate::gpu_bed::{Bed, assert_same, rows};
use crate::normalisation::{images, plainly};
use crate::wait::wait_until;

const POLICIES: [&str; 6] = [
    "no-wait",
    "opt-wait:1ms",
    "pipelined-opt-wait:1ms",
    "static:1ms",
    "segment:1ms",
    "elastic",
];

#[test]
fn answers_are_those_of_partitions_under_every_policy_and_change_of_policy() {
    let bed = Bed::new(&["cuda:0"]);
    let expected = bed.reference();
    let engine = bed.start();
    for policy in POLICIES.iter().chain(POLICIES.iter().rev()) {
        set_policy(&engine, policy.parse().expect("a policy")).expect("powers of two");
        assert_same(&rows(&engine, bed.samples()), &expected);
        for first in 0..20 {
            let sample = &bed.samples()[64 * first..64 * (first + 3)];
            assert_same(&rows(&engine, sample), &expected[first..first + 3]);
        }
    }
    assert!(engine.telemetry().take_events().is_empty());
}

#[test]
fn channels_are_normalised_for_gpus_too() {
    let bed = Bed::of(images(), &["cuda:0"]);
    let expected = plainly(&bed.ensemble);
    let engine = bed.start();
    let samples = bed.ensemble.calibration.clone().expect("made up");
    for policy in ["no-wait", "elastic"] {
        set_policy(&engine, policy.parse().expect("a policy")).expect("powers of two");
        assert_same(&rows(&engine, samples.values()), &expected);
    }
}

#[test]
fn policies_change_while_samples_are_under_way_and_nothing_is_lost() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let expected = bed.reference();
    let engine = bed.start();
    let mut pending = Vec::new();
    for round in 0..60 {
        let first = round % 250;
        let sample = &bed.samples()[64 * first..64 * (first + 40)];
        let request = engine.submit(Request::new(sample)).expect("let in");
        pending.push((first, request));
        set_policy(&engine, POLICIES[round % 6].parse().expect("a policy")).expect("powers of two");
    }
    for (first, request) in pending {
        let answer = request.wait().expect("answered");
        let found: Vec<Vec<f32>> = answer.rows().map(<[f32]>::to_vec).collect();
        assert_same(&found, &expected[first..first + 40]);
    }
    assert!(engine.telemetry().take_events().is_empty());
}

#[test]
fn gpus_and_partitions_answer_together() {
    let bed = Bed::new(&["cuda:0", "cuda:1", "cpu:0", "cpu:1"]);
    let expected = bed.reference();
    let engine = bed.start();
    for policy in POLICIES {
        set_policy(&engine, policy.parse().expect("a policy")).expect("powers of two");
        for _ in 0..4 {
            assert_same(&rows(&engine, bed.samples()), &expected);
        }
    }
}

#[test]
fn weights_are_there_once_whatever_the_lanes_and_leave_with_the_last_worker() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let members = bed.ensemble.members.len();
    let engine = bed.start();
    assert_eq!(bed.factory.made.load(Ordering::Acquire), members);
    set_policy(&engine, "elastic".parse().expect("a policy")).expect("powers of two");
    rows(&engine, bed.samples());
    // Bigger workers are built beside the old ones and share their weights.
    reload(&engine, &bed.matrix(&[0, 1], 16)).expect("reloads");
    assert_eq!(bed.factory.made.load(Ordering::Acquire), members);
    let used = bed.gpu().state.used();
    reload(&engine, &bed.matrix(&[1], 16)).expect("reloads");
    let state = &bed.gpu().state;
    wait_until("all memory comes back", || state.used() == 0);
    assert!(used >= (members * WEIGHTS) as u64);
    assert_same(&rows(&engine, bed.samples()), &bed.reference());
}

#[test]
fn a_gpu_is_never_busier_than_all_of_the_time_although_lanes_overlap() {
    let bed = Bed::new(&["cuda:0"]);
    let engine = bed.start();
    set_policy(&engine, "elastic".parse().expect("a policy")).expect("powers of two");
    let mut spans = Vec::new();
    for _ in 0..10 {
        rows(&engine, bed.samples());
        engine.telemetry().drain_spans(&mut spans);
    }
    let seconds: f64 = engine
        .telemetry()
        .observe()
        .workers
        .iter()
        .map(|w| w.seconds)
        .sum();
    assert!(seconds <= engine.telemetry().now().as_secs_f64() && seconds > 0.0);
    assert!(spans.iter().all(|s| s.start <= s.end));
    let kinds: std::collections::BTreeSet<String> =
        spans.iter().map(|s| format!("{:?}", s.kind)).collect();
    for kind in ["Wait", "Compute", "CopyOut", "CopyAhead"] {
        assert!(kinds.contains(kind), "{kind} is not among {kinds:?}");
    }
}
