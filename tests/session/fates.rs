//! Simulated devices in real time: served on, lost, evacuated, slowed, and shown.

use std::sync::Arc;

use divisi_engine::serving::{Engine, EngineOptions, Failure, Request};
use divisi_model::allocation::{Cell, Frame, Matrix};
use divisi_runtime::device::simulated::find_profile;
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};
use divisi_session::{
    Command, Health, LiveSession, LoadPattern, ReloadState, Session, Slowdown, Snapshot,
};

use crate::common::{apply, digits, everywhere, fakes, set_policy, until};

/// A session with digits on `count` simulated devices; `spread` puts a worker of every
/// member on each, else device 0 has them all.
pub fn session(count: usize, spread: bool) -> (Arc<Engine>, LiveSession) {
    let ensemble = digits();
    let devices = Devices::simulated(&find_profile("h200").expect("a profile"), count);
    let mut rows = vec![vec![0; ensemble.members.len()]; count];
    rows[0].fill(8);
    let matrix = match spread {
        true => everywhere(&ensemble, &devices),
        false => {
            Matrix::from_rows(Frame::from_ensemble(&ensemble, &devices), &rows).expect("valid")
        }
    };
    let options = EngineOptions::default();
    let factory = fakes(&ensemble);
    let engine = Engine::start(ensemble, devices, &matrix, Arc::clone(&factory), options);
    let engine = Arc::new(engine.expect("starts"));
    (Arc::clone(&engine), LiveSession::new(engine, factory, None))
}

pub fn reload_over(snapshot: &Snapshot) -> bool {
    let reload = snapshot.reload.as_ref();
    reload.is_some_and(|r| r.state != ReloadState::Running)
}

#[test]
fn a_simulated_device_answers_like_fake_members_and_says_that_it_is_simulated() {
    for policy in [
        "no-wait",
        "opt-wait:1ms",
        "elastic",
        "pipelined-opt-wait:1ms",
    ] {
        let (engine, mut session) = session(1, true);
        let policy = policy.parse().expect("a policy");
        set_policy(&engine, policy).expect("powers of two");
        let answer = engine
            .predict(Request::new(&[0.5; 64 * 37]))
            .expect("let in");
        assert_eq!(answer.expect("answered").len(), 37, "{policy}");
        let snapshot = session.snapshot();
        assert!(snapshot.simulated && snapshot.quality.is_none());
        assert!(snapshot.latency.since.split.computing > 0.0);
    }
}

#[test]
fn a_lost_device_is_evacuated_and_no_request_is_lost() {
    let (engine, mut session) = session(2, false);
    let command = Command::StartLoad(LoadPattern::closed(4, 8));
    session.command(command).expect("starts");
    until(&mut session, |s| s.counters.answered > 20);
    session
        .command(Command::LoseDevice(DeviceIndex::new(0)))
        .expect("it is there");
    let after = until(&mut session, reload_over);
    assert!(matches!(&after.health, Health::Degraded(why) if why.contains("sim:h200:0")));
    assert!(after.devices[0].lost && !after.devices[1].lost);
    assert!(
        after
            .matrix
            .workers()
            .all(|(cell, _)| cell.device == DeviceIndex::new(1))
    );
    let answered = after.counters.answered;
    let later = until(&mut session, |s| s.counters.answered > answered + 20);
    assert_eq!((later.counters.failed, later.counters.cancelled), (0, 0));
    let again = session.command(Command::LoseDevice(DeviceIndex::new(0)));
    assert_eq!(again.expect_err("gone").text(), "`sim:h200:0` is gone");
    let on_it = after.matrix.with_entry(
        Cell {
            device: DeviceIndex::new(0),
            member: MemberIndex::new(0),
        },
        after.matrix.frame().batch_sizes.iter().next(),
    );
    let refused = apply(&mut session, &on_it.expect("valid"));
    assert_eq!(
        refused.expect_err("gone").text(),
        "`sim:h200:0` is gone; bring it back, or use a matrix without it"
    );
    session
        .command(Command::RegainDevice(DeviceIndex::new(0)))
        .expect("it was gone");
    assert_eq!(session.snapshot().health, Health::Serving);
    session.command(Command::Undo).expect("what ran before");
    let back = until(&mut session, |s| reload_over(s) && s.matrix != after.matrix);
    assert!(
        back.matrix
            .workers()
            .all(|(cell, _)| cell.device == DeviceIndex::new(0))
    );
    drop(engine);
}

#[test]
fn without_another_device_the_door_closes_with_the_reason() {
    let (engine, mut session) = session(1, true);
    session
        .command(Command::LoseDevice(DeviceIndex::new(0)))
        .expect("it is there");
    let after = until(&mut session, reload_over);
    assert!(matches!(after.reload, Some(r) if matches!(r.state, ReloadState::Failed(_))));
    assert!(
        matches!(after.health, Health::Closed(_)),
        "{:?}",
        after.health
    );
    let refused = engine.predict(Request::new(&[0.5; 64]));
    assert!(refused.is_err(), "the door is closed");
}

#[test]
fn a_slow_device_marks_its_workers_and_a_move_is_proposed() {
    let (_engine, mut session) = session(2, false);
    let command = Command::StartLoad(LoadPattern::poisson(400.0));
    session.command(command).expect("starts");
    until(&mut session, |s| s.counters.answered > 50);
    session
        .command(Command::SlowDevice(
            DeviceIndex::new(0),
            Slowdown::nearest(8.0),
        ))
        .expect("simulated");
    let slow = until(&mut session, |s| s.proposal.is_some());
    let proposal = slow.proposal.expect("there is one");
    assert!(proposal.slowdown > 1.5, "{}", proposal.slowdown);
    assert_eq!(proposal.cell.device, DeviceIndex::new(0));
    let marked = slow.entries.iter().filter(|e| e.interfered.is_some());
    assert!(marked.count() > 0);
    assert_eq!(slow.devices[0].slowdown, 8.0);
    apply(&mut session, &proposal.matrix).expect("it fits");
    let after = until(&mut session, reload_over);
    assert_eq!(after.matrix, proposal.matrix);
}

#[test]
fn devices_of_this_machine_neither_disappear_nor_grow_slow() {
    let ensemble = digits();
    let engine = crate::common::start(&ensemble, fakes(&ensemble));
    let mut session = LiveSession::new(Arc::new(engine), fakes(&ensemble), None);
    for command in [
        Command::LoseDevice(DeviceIndex::new(0)),
        Command::SlowDevice(DeviceIndex::new(1), Slowdown::nearest(2.0)),
        Command::RegainDevice(DeviceIndex::new(0)),
    ] {
        let refused = session.command(command.clone()).expect_err("a real device");
        assert!(
            refused.text().contains("only simulated"),
            "{command:?}: {refused}"
        );
    }
    let refused = session
        .command(Command::LoseDevice(DeviceIndex::new(7)))
        .expect_err("no such device");
    assert_eq!(refused.text(), "expected a device from 0 to 1, found 7");
}

#[test]
fn a_failure_for_want_of_workers_names_the_member() {
    let (engine, mut session) = session(1, true);
    session
        .command(Command::SlowDevice(
            DeviceIndex::new(0),
            Slowdown::nearest(100.0),
        ))
        .expect("simulated");
    let pending = engine
        .submit(Request::new(&[0.5; 64 * 100]))
        .expect("let in");
    session
        .command(Command::LoseDevice(DeviceIndex::new(0)))
        .expect("it is there");
    let outcome = pending.wait();
    let Err(Failure::Worker(why)) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(
        why.contains("mlp") && why.contains("no worker left"),
        "{why}"
    );
}
