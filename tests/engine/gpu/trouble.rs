//! Batches that fail, and workers that are built again.

use divisi_engine::serving::{Failure, Request};
use divisi_runtime::device::MemberIndex;

use crate::common::set_policy;
use crate::gpu_bed::soft::lock;
use crate::gpu_bed::{Bed, SIZE, assert_same, rows};

#[test]
fn a_batch_that_fails_or_panics_fails_alone_and_its_worker_is_built_again() {
    for panics in [false, true] {
        let bed = Bed::new(&["cuda:0"]);
        let expected = bed.reference();
        let engine = bed.start();
        set_policy(&engine, "elastic".parse().expect("a policy")).expect("powers of two");
        *lock(&bed.factory.trouble) = Some((MemberIndex::new(0), panics));
        let pending = engine.submit(Request::new(&bed.samples()[..64]));
        let Err(Failure::Worker(why)) = pending.expect("let in").wait() else {
            panic!("it fails with a reason");
        };
        assert!(why.contains("cuda:0") && why.contains(if panics { "panics" } else { "like" }));
        assert_same(&rows(&engine, bed.samples()), &expected);
        assert_eq!(engine.telemetry().observe().restarts, 1);
    }
}

#[test]
fn lanes_that_cannot_be_made_fail_their_batch_and_the_door_stays_open() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let expected = bed.reference();
    let matrix = bed.matrix(&[0, 1], SIZE);
    let engine = bed.try_start(&matrix).expect("starts");
    let state = &bed.gpu().state;
    *lock(&state.refusal) = Some(divisi_runtime::device::gpu::GpuError::OutOfMemory(1));
    set_policy(&engine, "elastic".parse().expect("a policy")).expect("powers of two");
    for _ in 0..10 {
        let answered = engine.predict(Request::new(bed.samples())).expect("let in");
        assert!(answered.is_ok() || lock(&state.refusal).is_none());
    }
    assert_same(&rows(&engine, bed.samples()), &expected);
}
