//! Samples in the GPU's memory: copied once, ahead, read in place, and freed.

use std::sync::atomic::Ordering;

use divisi_engine::serving::Request;

use crate::common::set_policy;
use crate::gpu_bed::{Bed, SIZE, assert_same, rows};
use crate::wait::wait_until;

/// Bytes of a sample of digits.
const SAMPLE: u64 = 64 * 4;

#[test]
fn each_sample_is_copied_once_however_many_members_read_it() {
    for policy in ["elastic", "pipelined-opt-wait:1ms"] {
        let bed = Bed::new(&["cuda:0"]);
        // The pool on the GPU holds four times what the workers take.
        let engine = bed.try_start(&bed.matrix(&[0], 16)).expect("starts");
        set_policy(&engine, policy.parse().expect("a policy")).expect("powers of two");
        rows(&engine, bed.samples());
        let state = &bed.gpu().state;
        assert_eq!(state.copied_in.load(Ordering::Acquire), 300 * SAMPLE);
        // Whole parts travel: 300 samples are in a few extents.
        let parts = 300_usize.div_ceil(bed.ensemble.segment_size) + 1;
        assert!(state.copies_in.load(Ordering::Acquire) <= parts);
    }
}

#[test]
fn policies_that_copy_nothing_ahead_copy_for_every_member() {
    let bed = Bed::new(&["cuda:0"]);
    let engine = bed.start();
    rows(&engine, bed.samples());
    let copied = bed.gpu().state.copied_in.load(Ordering::Acquire);
    assert_eq!(copied, 300 * SAMPLE * bed.ensemble.members.len() as u64);
}

#[test]
fn copying_goes_on_while_batches_compute() {
    for policy in ["elastic", "pipelined-opt-wait:0ms"] {
        let bed = Bed::new(&["cuda:0"]);
        let expected = bed.reference();
        let engine = bed.start();
        set_policy(&engine, policy.parse().expect("a policy")).expect("powers of two");
        let state = &bed.gpu().state;
        state.computing.close();
        let first = 0..SIZE as usize;
        let sample = |r: &std::ops::Range<usize>| &bed.samples()[64 * r.start..64 * r.end];
        let one = engine.submit(Request::new(sample(&first))).expect("let in");
        wait_until("a batch computes", || {
            state.launched.load(Ordering::Acquire) > 0
        });
        let copied = state.copied_in.load(Ordering::Acquire);
        let second = 8..16;
        let two = engine
            .submit(Request::new(sample(&second)))
            .expect("let in");
        wait_until("samples are copied meanwhile", || {
            state.copied_in.load(Ordering::Acquire) > copied
        });
        state.computing.open();
        for (request, range) in [(one, first), (two, second)] {
            let answer = request.wait().expect("answered");
            let found: Vec<Vec<f32>> = answer.rows().map(<[f32]>::to_vec).collect();
            assert_same(&found, &expected[range]);
        }
    }
}

#[test]
fn parts_and_slots_are_given_back_when_requests_are_over() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let engine = bed.start();
    set_policy(&engine, "elastic".parse().expect("a policy")).expect("powers of two");
    // Lanes follow a policy when they are first used.
    rows(&engine, bed.samples());
    let state = &bed.gpu().state;
    for _ in 0..20 {
        rows(&engine, &bed.samples()[..64 * 37]);
    }
    wait_until("slots are free", || engine.telemetry().pooled() == 0);
    let before = state.used();
    for round in 0..40 {
        let sample = &bed.samples()[64 * round..64 * (round + 23)];
        let pending = engine.submit(Request::new(sample)).expect("let in");
        match round % 3 {
            0 => pending.cancel(),
            1 => drop(pending),
            _ => drop(pending.wait().expect("answered")),
        }
    }
    wait_until("slots are free", || engine.telemetry().pooled() == 0);
    wait_until("parts are gone", || state.used() == before);
}

#[test]
fn cancelled_while_it_is_copied_a_part_leaves_after_its_copy() {
    let bed = Bed::new(&["cuda:0"]);
    let engine = bed.start();
    set_policy(&engine, "elastic".parse().expect("a policy")).expect("powers of two");
    rows(&engine, bed.samples());
    let state = &bed.gpu().state;
    wait_until("slots are free", || engine.telemetry().pooled() == 0);
    wait_until("nothing runs", || engine.telemetry().in_flight() == 0);
    let before = state.used();
    state.copying.close();
    let pending = engine.submit(Request::new(&bed.samples()[..64 * 8]));
    wait_until("a copy is under way", || state.used() > before);
    pending.expect("let in").cancel();
    assert_eq!(engine.telemetry().pooled(), 0);
    state.copying.open();
    wait_until("the part is gone", || state.used() == before);
    rows(&engine, bed.samples());
}

#[test]
fn without_room_for_samples_lanes_copy_for_themselves() {
    let bed = Bed::new(&["cuda:0"]);
    let expected = bed.reference();
    let engine = bed.start();
    set_policy(&engine, "pipelined-opt-wait:0ms".parse().expect("a policy"))
        .expect("powers of two");
    // Lanes have their own room for samples from before.
    let state = &bed.gpu().state;
    set_policy(&engine, "no-wait".parse().expect("a policy")).expect("powers of two");
    assert_same(&rows(&engine, bed.samples()), &expected);
    set_policy(&engine, "pipelined-opt-wait:0ms".parse().expect("a policy"))
        .expect("powers of two");
    state.limit.store(state.used(), Ordering::Release);
    assert_same(&rows(&engine, bed.samples()), &expected);
    let told = engine.telemetry().take_events();
    assert!(
        told.len() == 1 && told[0].1.text().contains("not copied ahead"),
        "{told:?}"
    );
}

#[test]
fn memory_that_cannot_be_locked_is_copied_twice() {
    for policy in ["no-wait", "elastic"] {
        let bed = Bed::new(&["cuda:0"]);
        let expected = bed.reference();
        let engine = bed.start();
        set_policy(&engine, policy.parse().expect("a policy")).expect("powers of two");
        bed.gpu().state.no_pinned.store(true, Ordering::Release);
        assert_same(&rows(&engine, bed.samples()), &expected);
    }
}
