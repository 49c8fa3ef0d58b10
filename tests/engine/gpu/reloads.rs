//! Reloads under load over a GPU and partitions, and the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use divisi_engine::serving::{Engine, EngineOptions, Request};
use divisi_model::allocation::Matrix;
use divisi_model::ensemble::BatchSize;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::common::{reload, set_policy};
use crate::gpu_bed::{Bed, SIZE, assert_same, rows};
use crate::wait::{wait_for, wait_until};

const RELOADS: usize = 200;

#[test]
fn two_hundred_random_reloads_lose_nothing_answer_nothing_twice_and_leak_nothing() {
    let bed = Bed::new(&["cuda:0", "cpu:0", "cpu:1"]);
    let expected = bed.reference();
    let engine = bed.start();
    let (sent, answered) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let different = Arc::<AtomicUsize>::default();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                let first = sent.fetch_add(1, Ordering::AcqRel) * 7 % 290;
                let sample = &bed.samples()[64 * first..64 * (first + 8)];
                let right = expected[first..first + 8].to_vec();
                let (answered, different) = (Arc::clone(&answered), Arc::clone(&different));
                let reply = move |outcome: divisi_engine::serving::Outcome| {
                    let answer = outcome.expect("answered");
                    let same = answer
                        .rows()
                        .zip(&right)
                        .all(|(a, b)| a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1e-5));
                    different.fetch_add(usize::from(!same), Ordering::AcqRel);
                    answered.fetch_add(1, Ordering::AcqRel);
                };
                engine
                    .submit_with(Request::new(sample), Box::new(reply))
                    .expect("let in");
                wait_until("a few are under way", || engine.telemetry().in_flight() < 4);
            }
        });
        let mut random = ChaCha8Rng::seed_from_u64(7);
        for round in 0..RELOADS {
            let policy = ["no-wait", "elastic", "pipelined-opt-wait:1ms"][round / 20 % 3];
            set_policy(&engine, policy.parse().expect("a policy")).expect("powers of two");
            let next = neighbour(&engine, &mut random);
            reload(&engine, &next).expect("reloads");
            let so_far = answered.load(Ordering::Acquire);
            wait_until("answers come", || answered.load(Ordering::Acquire) > so_far);
        }
        over.store(true, Ordering::Release);
    });
    let sent = sent.load(Ordering::Acquire);
    // A request is over before its caller is told.
    wait_for(|| match answered.load(Ordering::Acquire) {
        so_far if so_far < sent => Err(format!("{so_far} of {sent} answered")),
        _ => Ok(()),
    });
    wait_until("nothing is under way", || {
        engine.telemetry().in_flight() == 0
    });
    assert_eq!(answered.load(Ordering::Acquire), sent, "doubled");
    assert_eq!(different.load(Ordering::Acquire), 0, "different");
    let elsewhere = bed.matrix(&[1, 2], SIZE);
    reload(&engine, &elsewhere).expect("reloads");
    let state = &bed.gpu().state;
    wait_until("nothing is leaked", || state.used() == 0);
    assert!(engine.telemetry().take_events().is_empty());
}

/// Several random entries changed at once, whatever is valid.
fn neighbour(engine: &Engine, random: &mut ChaCha8Rng) -> Matrix {
    let mut matrix = engine.matrix();
    let cells: Vec<_> = matrix.cells().collect();
    let none = std::iter::once(None);
    let sizes: Vec<Option<BatchSize>> = none
        .chain(matrix.frame().batch_sizes.iter().map(Some))
        .collect();
    for _ in 0..random.random_range(1..=4) {
        let (cell, size) = (cells.choose(random), sizes.choose(random));
        if let Some(Ok(next)) = cell.zip(size).map(|(c, s)| matrix.with_entry(*c, *s)) {
            matrix = next;
        }
    }
    matrix
}

#[test]
fn where_there_is_no_memory_an_engine_does_not_start_and_says_why() {
    let bed = Bed::new(&["cuda:0"]);
    let state = &bed.gpu().state;
    state.limit.store(5000, Ordering::Release);
    let error = bed.try_start(&bed.matrix(&[0], SIZE)).err();
    let text = error.expect("does not start").to_string();
    assert!(
        text.contains("cuda:0") && text.contains("not enough memory"),
        "{text}"
    );
    wait_until("nothing is left there", || state.used() == 0);
}

#[test]
fn where_there_is_no_memory_a_reload_fails_and_the_old_matrix_serves() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let expected = bed.reference();
    let old = bed.matrix(&[1], SIZE);
    let engine = bed.try_start(&old).expect("starts");
    let state = &bed.gpu().state;
    state.limit.store(5000, Ordering::Release);
    let error = reload(&engine, &bed.matrix(&[0, 1], SIZE)).err();
    let text = error.expect("fails").to_string();
    assert!(text.contains("not enough memory"), "{text}");
    assert_eq!(engine.matrix(), old);
    assert_same(&rows(&engine, bed.samples()), &expected);
    wait_until("nothing is left there", || state.used() == 0);
    state.limit.store(1 << 30, Ordering::Release);
    reload(&engine, &bed.matrix(&[0, 1], SIZE)).expect("reloads");
    assert_same(&rows(&engine, bed.samples()), &expected);
}

#[test]
fn shut_down_or_dropped_an_engine_leaves_nothing_on_the_gpu() {
    for policy in ["no-wait", "elastic"] {
        let bed = Bed::new(&["cuda:0", "cpu:0"]);
        let engine = bed.start();
        set_policy(&engine, policy.parse().expect("a policy")).expect("powers of two");
        let pending = engine.submit(Request::new(bed.samples())).expect("let in");
        engine.shutdown();
        assert_eq!(pending.wait().expect("answered").len(), 300);
        drop(engine);
        assert_eq!(bed.gpu().state.used(), 0);
        let engine = bed.start();
        let pending = engine.submit(Request::new(bed.samples())).expect("let in");
        drop(engine);
        drop(pending.wait());
        assert_eq!(bed.gpu().state.used(), 0);
    }
}

#[test]
fn an_engine_stops_although_the_gpu_hangs() {
    let bed = Bed::new(&["cuda:0"]);
    let patience = Duration::from_millis(20);
    let options = EngineOptions {
        drain_limit: patience,
        ..EngineOptions::default()
    };
    let engine = bed.start_with(&bed.matrix(&[0], SIZE), options);
    let engine = engine.expect("starts");
    let state = &bed.gpu().state;
    state.computing.close();
    let pending = engine.submit(Request::new(bed.samples())).expect("let in");
    wait_until("a batch hangs", || {
        state.launched.load(Ordering::Acquire) > 0
    });
    let stopped = thread::spawn(move || {
        engine.shutdown();
        drop(engine);
    });
    wait_until("the engine stops", || stopped.is_finished());
    assert!(pending.wait().is_err());
    state.computing.open();
    wait_until("its memory comes back", || state.used() == 0);
}
