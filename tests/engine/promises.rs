//! Promises to clients are kept: whatever panics, whoever drops, whoever measures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use divisi_engine::serving::{
    ApplyError, Engine, EngineOptions, Failure, NetworkFactory, NoFallback, PlanError,
    PredictorFactory, Request, ReserveError, Settlements,
};
use divisi_model::allocation::Cell;
use divisi_model::ensemble::{AnswerFloats, BatchSize, CombinationRule};
use divisi_runtime::device::simulated::find_profile;
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};

use crate::common::{digits, everywhere, fakes, reload, set_combination, start, two_devices};
use crate::wait::wait_until;

/// A rule that panics when it folds, or when it finishes.
pub struct Panics {
    pub folding: bool,
}

impl CombinationRule for Panics {
    fn state_width(&self) -> usize {
        1
    }

    fn fold(&self, _member: MemberIndex, _rows: &[f32], _state: &mut [f32]) {
        assert!(!self.folding, "it cannot fold");
    }

    fn finish(&self, _state: AnswerFloats, _classes: usize) -> AnswerFloats {
        panic!("it cannot finish")
    }
}

fn engines() -> Vec<Engine> {
    let ensemble = digits();
    let devices = Devices::simulated(&find_profile("h200").expect("a profile"), 1);
    let matrix = everywhere(&ensemble, &devices);
    let (factory, options) = (fakes(&ensemble), EngineOptions::default());
    let simulated = Engine::start(Arc::clone(&ensemble), devices, &matrix, factory, options);
    vec![
        start(&ensemble, fakes(&ensemble)),
        simulated.expect("starts"),
    ]
}

#[test]
fn a_rule_that_panics_fails_its_requests_with_the_reason_and_nothing_else() {
    for engine in engines() {
        for folding in [false, true] {
            let by = engine.settings().combination();
            engine.settings().combine_with(Arc::new(Panics { folding }));
            for _ in 0..5 {
                let outcome = engine.predict(Request::new(&[0.5; 64 * 20]));
                let Err(Failure::RulePanicked(why)) = outcome.expect("let in") else {
                    panic!("a rule that panics has no answer")
                };
                let said = if folding {
                    "cannot fold"
                } else {
                    "cannot finish"
                };
                assert!(why.contains(said), "{why}");
            }
            set_combination(&engine, by).expect("it was set before");
            let outcome = engine.predict(Request::new(&[0.5; 64 * 20]));
            assert_eq!(outcome.expect("let in").expect("answered").len(), 20);
        }
        assert_eq!(
            engine.telemetry().observe().restarts,
            0,
            "no worker is to blame"
        );
        let expected = Settlements {
            promised: 12,
            kept: 12,
            ..Settlements::default()
        };
        assert_eq!(engine.telemetry().settlements(), expected);
        let seen = engine.telemetry().observe();
        assert_eq!((seen.answered, seen.failed), (2, 10));
        let entry = &engine.telemetry().entries()[0];
        assert_eq!(entry.answered, 2);
        assert_eq!(engine.telemetry().reading().answered, 2);
    }
}

#[test]
fn what_a_caller_takes_back_is_no_broken_promise() {
    let ensemble = digits();
    let engine = start(&ensemble, fakes(&ensemble));
    drop(engine.stage(Request::new(&[0.5; 64])).expect("let in"));
    let pending = engine.stage(Request::new(&[0.5; 64])).expect("let in");
    pending.release().wait().expect("answered");
    let calls = Arc::<AtomicUsize>::default();
    let called = Arc::clone(&calls);
    let reply = move |_| {
        called.fetch_add(1, Ordering::AcqRel);
    };
    engine
        .submit_with(Request::new(&[0.5; 64]), Box::new(reply))
        .expect("let in");
    wait_until("it is answered", || calls.load(Ordering::Acquire) == 1);
    let expected = Settlements {
        promised: 3,
        kept: 2,
        withdrawn: 1,
        ..Settlements::default()
    };
    assert_eq!(engine.telemetry().settlements(), expected);
}

#[test]
fn weights_leave_host_memory_with_the_last_worker_there() {
    let ensemble = digits();
    let factory = Arc::new(NetworkFactory::new(Arc::clone(&ensemble)));
    let held = |factory: &NetworkFactory| {
        let members = 0..ensemble.members.len();
        members
            .filter(|m| {
                factory
                    .hold(ensemble.network(MemberIndex::new(*m)))
                    .is_some()
            })
            .count()
    };
    let engine = start(&ensemble, Arc::clone(&factory) as _);
    assert_eq!(held(&factory), ensemble.members.len());
    // One of two workers leaves: the other shares the weights still.
    let cell = |device| Cell {
        device: DeviceIndex::new(device),
        member: MemberIndex::new(0),
    };
    let less = engine.matrix().with_entry(cell(0), None).expect("valid");
    reload(&engine, &less).expect("reloads");
    assert_eq!(held(&factory), ensemble.members.len());
    drop(engine);
    assert_eq!(held(&factory), 0, "nobody is left");
}

#[test]
fn who_measures_and_who_reloads_never_book_the_same_memory() {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    let running = engine.matrix();
    let cell = Cell {
        device: DeviceIndex::new(0),
        member: MemberIndex::new(0),
    };
    let with = |size| running.with_entry(cell, size).expect("valid");
    let (more, less) = (with(BatchSize::new(128)), with(None));
    let setup = engine.setup().with_matrix(more.clone());
    engine.plan(&setup).expect("it fits");
    let reserved = engine.reserve_rest(|| {}).expect("nobody reloads");
    let booked = engine
        .ledger(&running)
        .expect("it runs")
        .booked(DeviceIndex::new(0));
    let all = two_devices().memory_bytes(DeviceIndex::new(0));
    assert_eq!(
        reserved.free().memory_bytes(DeviceIndex::new(0)),
        all - booked
    );
    let refused = reload(&engine, &more);
    assert!(
        matches!(refused, Err(ApplyError::Plan(PlanError::Lent(_)))),
        "{refused:?}"
    );
    assert!(matches!(
        engine.reserve_rest(|| {}).err(),
        Some(ReserveError::Reserved)
    ));
    reload(&engine, &less).expect("it needs no more than ran");
    reload(&engine, &running).expect("what ran fits");
    drop(reserved);
    reload(&engine, &more).expect("all is free again");
}

#[test]
fn who_measures_is_asked_to_leave_where_a_device_is_lost() {
    let ensemble = digits();
    let devices = Devices::simulated(&find_profile("h200").expect("a profile"), 2);
    let matrix = everywhere(&ensemble, &devices);
    let (factory, options) = (fakes(&ensemble), EngineOptions::default());
    let engine = Engine::start(ensemble, devices, &matrix, factory, options);
    let engine = Arc::new(engine.expect("starts"));
    let (leave, asked) = std::sync::mpsc::channel();
    let reserved = engine.reserve_rest(move || leave.send(()).unwrap_or_default());
    let reserved = reserved.expect("nobody reloads");
    let measures = std::thread::spawn(move || {
        asked.recv().expect("asked");
        drop(reserved);
    });
    let fallback = |running: &divisi_model::allocation::Matrix| {
        let mut fallback = running.clone();
        for member in MemberIndex::all(running.frame().members.len()) {
            let cell = Cell {
                device: DeviceIndex::new(0),
                member,
            };
            fallback = fallback
                .with_entry(cell, None)
                .map_err(|e| NoFallback(e.to_string()))?;
        }
        Ok(fallback)
    };
    engine
        .evacuate(DeviceIndex::new(0), &fallback, &mut |_| {})
        .expect("moves");
    measures.join().expect("it left");
}
