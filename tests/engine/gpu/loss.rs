//! GPUs that are lost while they serve, and come back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};

use divisi_engine::serving::{Engine, Failure, Loss, LossReason, NoFallback, Request};
use divisi_runtime::device::DeviceIndex;

use crate::common::{reload, set_policy};
use crate::gpu_bed::soft::{SoftGpu, lock};
use crate::gpu_bed::{Bed, SIZE, assert_same, info, rows};
use crate::wait::wait_until;

fn listen(engine: &Engine) -> Receiver<Loss> {
    let (tell, losses) = channel();
    engine.faults().on_loss(move |loss| drop(tell.send(loss)));
    losses
}

#[test]
fn a_gpu_lost_in_the_middle_of_batches_takes_no_request_with_it() {
    for policy in ["no-wait", "elastic", "pipelined-opt-wait:1ms", "static:1ms"] {
        let bed = Bed::new(&["cuda:0", "cpu:0"]);
        let expected = bed.reference();
        // Nobody but the GPU serves until it is lost.
        let engine = bed.try_start(&bed.matrix(&[0], SIZE)).expect("starts");
        let losses = listen(&engine);
        set_policy(&engine, policy.parse().expect("a policy")).expect("powers of two");
        let state = &bed.gpu().state;
        state.computing.close();
        let pending = engine.submit(Request::new(bed.samples())).expect("let in");
        wait_until("a batch computes", || {
            state.launched.load(Ordering::Acquire) > 0
        });
        state.lose();
        let loss = losses.recv().expect("it is told");
        assert_eq!(loss.device, DeviceIndex::new(0));
        assert!(matches!(&loss.reason, LossReason::Gpu(said) if said.is_lost()));
        assert_eq!(
            engine.faults().loss_reason(DeviceIndex::new(0)),
            Some(loss.reason)
        );
        // The door is open meanwhile.
        let more = engine.submit(Request::new(bed.samples())).expect("let in");
        let fallback = bed.matrix(&[1], SIZE);
        engine
            .evacuate(DeviceIndex::new(0), &|_| Ok(fallback.clone()), &mut |_| {})
            .expect("moves");
        assert_eq!(engine.matrix(), fallback);
        for pending in [pending, more] {
            let answer = pending.wait().expect("answered");
            let found: Vec<Vec<f32>> = answer.rows().map(<[f32]>::to_vec).collect();
            assert_same(&found, &expected);
        }
        assert!(
            engine
                .evacuate(
                    DeviceIndex::new(0),
                    &|_| Err(NoFallback(String::new())),
                    &mut |_| {}
                )
                .is_err()
        );
        wait_until("nothing is left there", || state.used() == 0);
        assert!(losses.try_recv().is_err(), "told once");
        let events = engine.telemetry().take_events();
        assert!(
            events
                .iter()
                .any(|(_, e)| e.text().contains("fell off the bus"))
        );
    }
}

#[test]
fn a_lost_gpu_comes_back_empty_and_serves_again() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let expected = bed.reference();
    let engine = bed.start();
    let losses = listen(&engine);
    bed.gpu().state.lose();
    let pending = engine.submit(Request::new(bed.samples())).expect("let in");
    losses.recv().expect("it is told");
    let fallback = bed.matrix(&[1], SIZE);
    engine
        .evacuate(DeviceIndex::new(0), &|_| Ok(fallback.clone()), &mut |_| {})
        .expect("moves");
    pending.wait().expect("answered");
    // The same one again does not work.
    assert!(engine.faults().regain(DeviceIndex::new(0)).is_err());
    assert_eq!(engine.faults().lost(), [DeviceIndex::new(0)]);
    lock(&bed.factory.gpus)[0] = SoftGpu::new(info(0));
    engine
        .faults()
        .regain(DeviceIndex::new(0))
        .expect("another one does");
    assert_eq!(
        (
            engine.faults().lost(),
            engine.faults().loss_reason(DeviceIndex::new(0))
        ),
        (vec![], None)
    );
    reload(&engine, &bed.matrix(&[0], SIZE)).expect("reloads");
    assert_same(&rows(&engine, bed.samples()), &expected);
    assert!(bed.gpu().state.launched.load(Ordering::Acquire) > 0);
    assert!(engine.telemetry().take_events().len() == 2);
}

#[test]
fn without_another_device_the_door_closes_with_a_reason() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let engine = bed.try_start(&bed.matrix(&[0], SIZE)).expect("starts");
    let losses = listen(&engine);
    let state = &bed.gpu().state;
    state.computing.close();
    let pending = engine.submit(Request::new(bed.samples())).expect("let in");
    wait_until("a batch computes", || {
        state.launched.load(Ordering::Acquire) > 0
    });
    state.lose();
    losses.recv().expect("it is told");
    let none = engine.evacuate(
        DeviceIndex::new(0),
        &|_| Err(NoFallback("no room".into())),
        &mut |_| {},
    );
    assert_eq!(none.expect_err("none").to_string(), "no room");
    assert!(matches!(pending.wait(), Err(Failure::Worker(_))));
    assert!(engine.submit(Request::new(bed.samples())).is_err());
}

#[test]
fn where_nobody_listens_members_without_workers_close_the_door_at_once() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let engine = bed.try_start(&bed.matrix(&[0], SIZE)).expect("starts");
    bed.gpu().state.lose();
    let pending = engine.submit(Request::new(bed.samples())).expect("let in");
    assert!(matches!(pending.wait(), Err(Failure::Worker(_))));
    // Who listens later is told; what was closed opens again.
    let losses = listen(&engine);
    losses.recv().expect("it is told");
    let fallback = bed.matrix(&[1], SIZE);
    engine
        .evacuate(DeviceIndex::new(0), &|_| Ok(fallback.clone()), &mut |_| {})
        .expect("moves");
    assert_same(&rows(&engine, bed.samples()), &bed.reference());
}

#[test]
fn lost_while_a_worker_is_built_there_the_reload_fails_and_what_remains_serves() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let engine = bed.try_start(&bed.matrix(&[1], SIZE)).expect("starts");
    let losses = listen(&engine);
    bed.gpu().state.lose();
    let failed = reload(&engine, &bed.matrix(&[0, 1], SIZE));
    assert!(failed.is_err());
    losses.recv().expect("it is told");
    let same = bed.matrix(&[1], SIZE);
    engine
        .evacuate(DeviceIndex::new(0), &|_| Ok(same.clone()), &mut |_| {})
        .expect("stays");
    assert_same(&rows(&engine, bed.samples()), &bed.reference());
}

#[test]
fn a_gpu_can_be_taken_away_by_wish_and_hanging_ones_give_their_batches_back() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let engine = Arc::new(bed.try_start(&bed.matrix(&[0], SIZE)).expect("starts"));
    let state = &bed.gpu().state;
    state.computing.close();
    let pending = engine.submit(Request::new(bed.samples())).expect("let in");
    wait_until("a batch hangs", || {
        state.launched.load(Ordering::Acquire) > 0
    });
    let fallback = bed.matrix(&[1], SIZE);
    engine
        .evacuate(DeviceIndex::new(0), &|_| Ok(fallback.clone()), &mut |_| {})
        .expect("moves");
    let answer = pending.wait().expect("answered");
    let found: Vec<Vec<f32>> = answer.rows().map(<[f32]>::to_vec).collect();
    assert_same(&found, &bed.reference());
    state.computing.open();
    wait_until("nothing is left there", || state.used() == 0);
}
