//! The live system: requests in, answers out, whatever happens to workers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candle_core::Tensor;
use divisi_engine::serving::{
    BuildError, DoorState, Engine, EngineError, EngineOptions, Failure, PredictorFactory, Refused,
    Request,
};
use divisi_model::allocation::{Cell, DoesNotFit, Matrix};
use divisi_model::ensemble::{BatchSize, ComputedMember, PolicyKind, Wait};
use divisi_runtime::compute::{ComputeError, FakePredictor, Predictor};
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use crate::common::{
    digits, everywhere, fakes, frame, networks, reload, set_policy, start, two_devices,
};

#[test]
fn digits_are_read_rightly() {
    let ensemble = digits();
    let samples = ensemble.calibration.clone().expect("digits has samples");
    let engine = start(&ensemble, networks(&ensemble));
    let answer = engine
        .predict(Request::new(samples.values()))
        .expect("admitted")
        .expect("answered");
    let labels = samples.labels().expect("labelled");
    let right = answer
        .classes()
        .zip(labels)
        .filter(|(a, b)| *a == Some(**b))
        .count();
    assert!(
        right as f64 > 0.97 * samples.len() as f64,
        "{right} of {}",
        samples.len()
    );
    assert_eq!(engine.telemetry().pooled(), 0);
}

#[test]
fn one_sample_and_many_give_the_same_answer() {
    let ensemble = digits();
    let samples = ensemble.calibration.clone().expect("digits has samples");
    let engine = start(&ensemble, networks(&ensemble));
    let all = engine
        .predict(Request::new(&samples.values()[..300 * 64]))
        .expect("admitted")
        .expect("answered");
    for (i, row) in all.rows().enumerate().step_by(37) {
        let one = engine
            .predict(Request::new(samples.row(i)))
            .expect("admitted")
            .expect("answered");
        let alone = one.rows().next().expect("one row");
        assert!(row.iter().zip(alone).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}

#[test]
fn fakes_combine_to_what_the_rule_says() {
    let ensemble = digits();
    let engine = start(&ensemble, fakes(&ensemble));
    let answer = engine
        .predict(Request::new(&[0.0; 64 * 200]))
        .expect("admitted")
        .expect("answered");
    let rows: Vec<_> = (0..6)
        .map(|m| divisi_runtime::compute::constant_row(MemberIndex::new(m), 10))
        .collect();
    for row in answer.rows() {
        for (class, score) in row.iter().enumerate() {
            let mean: f32 = rows.iter().map(|r| r[class]).sum::<f32>() / 6.0;
            assert!((mean - score).abs() < 1e-6);
        }
    }
}

/// One end of two channels: begun, and go on.
type Gate = Arc<Mutex<(Sender<()>, Receiver<()>)>>;

/// Fake members that can be told to panic, to wait at a gate, or not to start.
struct Puppets {
    /// Batches of member 0 that will panic.
    panics: Arc<AtomicUsize>,
    /// Where a batch of member 1 says that it has begun and waits to go on.
    gate: Option<Gate>,
    refuse: Arc<AtomicBool>,
}

impl Puppets {
    fn new() -> Self {
        Puppets {
            panics: Arc::default(),
            gate: None,
            refuse: Arc::default(),
        }
    }

    /// With a gate: tells when a batch has begun, and lets it go on.
    fn gated() -> (Self, Receiver<()>, Sender<()>) {
        let (begun, told) = channel();
        let (go, waits) = channel();
        let gate = Some(Arc::new(Mutex::new((begun, waits))));
        (
            Puppets {
                gate,
                ..Puppets::new()
            },
            told,
            go,
        )
    }
}

struct Puppet {
    fake: FakePredictor,
    panics: Option<Arc<AtomicUsize>>,
    gate: Option<Gate>,
}

impl PredictorFactory for Puppets {
    fn build(
        &self,
        network: ComputedMember,
        _size: BatchSize,
        _pool: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        if self.refuse.load(Ordering::Acquire) {
            return Err(BuildError::Other("told to refuse".into()));
        }
        let member = network.member;
        Ok(Box::new(Puppet {
            fake: FakePredictor::new(member, 10),
            panics: (member == MemberIndex::new(0)).then(|| Arc::clone(&self.panics)),
            gate: self.gate.clone().filter(|_| member == MemberIndex::new(1)),
        }))
    }
}

impl Predictor for Puppet {
    fn predict(
        &mut self,
        batch: usize,
        input: &Tensor,
        output: &Tensor,
    ) -> Result<(), ComputeError> {
        if let Some(gate) = &self.gate {
            let gate = gate.lock().expect("gate");
            gate.0.send(()).expect("somebody listens");
            gate.1.recv().expect("somebody lets go");
        }
        let left = self
            .panics
            .as_ref()
            .map(|p| p.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1)));
        assert!(!matches!(left, Some(Ok(_))), "told to panic");
        self.fake.predict(batch, input, output)
    }
}

/// One worker a member, all on the first device but member 1, which is on the second.
fn split(puppets: Puppets, options: EngineOptions) -> Engine {
    let (ensemble, devices) = (digits(), two_devices());
    let rows = [vec![8, 0, 8, 8, 8, 8], vec![0, 8, 0, 0, 0, 0]];
    let matrix = Matrix::from_rows(frame(&ensemble, &devices), &rows).expect("valid");
    Engine::start(ensemble, devices, &matrix, Arc::new(puppets), options).expect("starts")
}

#[test]
fn a_panic_fails_its_batch_and_the_worker_is_restarted_until_it_is_retired() {
    let puppets = Puppets::new();
    let panics = Arc::clone(&puppets.panics);
    let engine = split(puppets, EngineOptions::default());
    let sample = [0.0; 64];
    let send = || engine.predict(Request::new(&sample));
    for _ in 0..2 {
        panics.store(1, Ordering::Release);
        let failure = send().expect("admitted").expect_err("its network panicked");
        assert!(
            failure
                .to_string()
                .contains("worker `mlp` on `cpu:0`: panicked: told to panic"),
            "{failure}"
        );
        assert!(send().expect("admitted").is_ok(), "the worker is back");
    }
    panics.store(1, Ordering::Release);
    assert!(send().expect("admitted").is_err());
    let closed = loop {
        match send() {
            Err(Refused::Closed(reason)) => break reason,
            Err(other) => panic!("{other}"),
            Ok(outcome) => assert!(outcome.is_err(), "nobody can serve it"),
        }
    };
    assert_eq!(closed, "member `mlp` has no worker left");
    assert_eq!(engine.telemetry().pooled(), 0);
    let events = engine.telemetry().take_events();
    assert!(
        events
            .iter()
            .any(|e| e.1.text().contains("it was restarted"))
            && events.iter().any(|e| e.1.text().contains("it is retired"))
    );
    // A reload that brings a worker opens the door again.
    let next = engine
        .matrix()
        .with_entry(
            Cell {
                device: DeviceIndex::new(1),
                member: MemberIndex::new(0),
            },
            BatchSize::new(16),
        )
        .expect("valid");
    reload(&engine, &next).expect("reloads");
    assert!(send().expect("the door is open").is_ok());
}

#[test]
fn a_deadline_and_a_cancelled_request_free_their_samples() {
    let (puppets, begun, go) = Puppets::gated();
    let engine = split(puppets, EngineOptions::default());
    let sample = [0.0; 64];
    let blocking = engine.submit(Request::new(&sample)).expect("admitted");
    begun.recv().expect("the gate is reached");
    let late = engine
        .submit(Request::new(&sample).within(Duration::from_millis(5)))
        .expect("admitted");
    assert_eq!(late.wait(), Err(Failure::Deadline));
    let dropped = engine.submit(Request::new(&sample)).expect("admitted");
    dropped.cancel();
    go.send(()).expect("goes on");
    assert!(blocking.wait().is_ok());
    assert_eq!(
        engine.telemetry().pooled(),
        0,
        "nothing of the others was kept or run"
    );
    let seen = engine.telemetry().observe();
    assert_eq!(
        (seen.failed, seen.cancelled, seen.answered, seen.in_flight),
        (1, 1, 1, 0)
    );
}

#[test]
fn a_new_worker_that_does_not_start_leaves_the_old_matrix_serving() {
    let puppets = Puppets::new();
    let refuse = Arc::clone(&puppets.refuse);
    let engine = split(puppets, EngineOptions::default());
    let old = engine.matrix();
    let next = old
        .with_entry(
            Cell {
                device: DeviceIndex::new(1),
                member: MemberIndex::new(0),
            },
            BatchSize::new(16),
        )
        .expect("valid");
    refuse.store(true, Ordering::Release);
    let error = reload(&engine, &next)
        .expect_err("it does not start")
        .to_string();
    assert_eq!(error, "a new worker did not start: told to refuse");
    assert_eq!(engine.matrix(), old);
    assert!(
        engine
            .predict(Request::new(&[0.0; 64]))
            .expect("admitted")
            .is_ok()
    );
}

#[test]
fn a_worker_that_does_not_drain_in_time_fails_its_batch_with_a_reason() {
    let (puppets, begun, go) = Puppets::gated();
    let options = EngineOptions {
        drain_limit: Duration::from_millis(20),
        ..EngineOptions::default()
    };
    let engine = split(puppets, options);
    let stuck = engine.submit(Request::new(&[0.0; 64])).expect("admitted");
    begun.recv().expect("the gate is reached");
    let next = engine
        .matrix()
        .with_entry(
            Cell {
                device: DeviceIndex::new(0),
                member: MemberIndex::new(1),
            },
            BatchSize::new(8),
        )
        .expect("valid");
    let next = next
        .with_entry(
            Cell {
                device: DeviceIndex::new(1),
                member: MemberIndex::new(1),
            },
            None,
        )
        .expect("valid");
    reload(&engine, &next).expect("reloads");
    let failure = stuck.wait().expect_err("its worker was taken away");
    assert!(
        failure.to_string().contains("did not finish in time"),
        "{failure}"
    );
    go.send(()).expect("goes on");
    drop(go);
}

#[test]
fn shutting_down_answers_what_is_under_way_and_refuses_the_rest() {
    let ensemble = digits();
    let engine = start(&ensemble, networks(&ensemble));
    let pending: Vec<_> = (0..20)
        .map(|_| {
            engine
                .submit(Request::new(&[0.5; 64 * 8]))
                .expect("admitted")
        })
        .collect();
    engine.shutdown();
    for request in pending {
        assert!(request.wait().is_ok());
    }
    assert!(matches!(
        engine.submit(Request::new(&[0.5; 64])),
        Err(Refused::Closed(_))
    ));
}

#[test]
fn an_engine_that_is_dropped_fails_what_it_had_not_answered() {
    let (puppets, begun, go) = Puppets::gated();
    let engine = split(puppets, EngineOptions::default());
    let (answers, inbox) = channel();
    for _ in 0..3 {
        let answers = answers.clone();
        let reply = Box::new(move |outcome| answers.send(outcome).expect("somebody listens"));
        engine
            .submit_with(Request::new(&[0.0; 64]), reply)
            .expect("admitted");
    }
    begun.recv().expect("the gate is reached");
    go.send(()).expect("goes on");
    drop(go);
    drop(engine);
    drop(answers);
    assert_eq!(inbox.iter().count(), 3, "each exactly once");
}

#[test]
fn samples_that_are_not_numbers_or_of_another_shape_are_refused() {
    let ensemble = digits();
    let engine = start(&ensemble, fakes(&ensemble));
    let mut values = [0.0; 128];
    values[70] = f32::NAN;
    let refused = |values: &[f32]| engine.submit(Request::new(values)).err().expect("refused");
    assert_eq!(
        refused(&values),
        Refused::NotFinite {
            sample: 1,
            value: 6
        }
    );
    assert_eq!(
        refused(&[0.0; 65]),
        Refused::Shape {
            expected: 64,
            found: 65
        }
    );
    assert_eq!(refused(&[]), Refused::Empty);
    let most = engine.telemetry().capacity();
    assert_eq!(
        refused(&vec![0.0; 64 * (most + 1)]),
        Refused::TooLarge {
            samples: most + 1,
            most
        }
    );
    assert_eq!(engine.telemetry().observe().refused, 4);
}

#[test]
fn a_matrix_that_does_not_fit_stops_the_start_with_member_need_and_room() {
    let ensemble = digits();
    let host = divisi_runtime::device::Host {
        cores: vec![0, 1],
        memory_bytes: 6 << 20,
    };
    let devices = divisi_runtime::device::Devices::default_of(&host);
    let matrix = everywhere(&ensemble, &devices);
    let error = Engine::start(
        Arc::clone(&ensemble),
        devices,
        &matrix,
        fakes(&ensemble),
        EngineOptions::default(),
    )
    .err()
    .expect("does not fit");
    assert!(matches!(
        error,
        EngineError::DoesNotFit(DoesNotFit::Worker { .. })
    ));
    let text = error.to_string();
    // How much depends on the processor's kernels.
    for part in [
        "member `",
        "at batch size 8 needs",
        "on `cpu:0`; ",
        "of 6.0 MiB are free",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn answers_are_the_same_under_every_policy_and_matrix_while_they_change() {
    let ensemble = digits();
    let samples = ensemble.calibration.clone().expect("digits has samples");
    let engine = start(&ensemble, networks(&ensemble));
    let values = &samples.values()[..64 * 96];
    let answer = |engine: &Engine| -> Vec<f32> {
        let outcome = engine
            .predict(Request::new(values))
            .expect("admitted")
            .expect("answered");
        outcome.rows().flatten().copied().collect()
    };
    let expected = answer(&engine);
    let wait = Wait::millis(1);
    let policies = [
        PolicyKind::OptWait { wait },
        PolicyKind::Static { wait },
        PolicyKind::Segment { wait },
        PolicyKind::NoWait,
    ];
    for (turn, policy) in policies.into_iter().enumerate() {
        set_policy(&engine, policy).expect("powers of two");
        let cell = Cell {
            device: DeviceIndex::new(turn % 2),
            member: MemberIndex::new(turn),
        };
        let size = [None, BatchSize::new(64)][turn % 2];
        let next = engine.matrix().with_entry(cell, size).expect("valid");
        reload(&engine, &next).expect("reloads");
        let got = answer(&engine);
        let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * b.abs().max(1e-2);
        assert!(got.iter().zip(&expected).all(near), "{policy}");
    }
    assert_eq!(*engine.ensemble().name, *"digits");
    assert_eq!(engine.telemetry().observe().door, DoorState::Open);
}
