//! A session over a GPU: what it shows, and what it does when the GPU is lost, whether or
//! not a console looks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use divisi_engine::search::{Algorithm, EvaluatorKind, worst_fit};
use divisi_engine::serving::{Engine, Failure, PredictorFactory, Request};
use divisi_model::allocation::Footprints;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::DeviceIndex;
use divisi_session::{
    Command, Health, LiveSession, MarkKind, ProbationState, ReloadState, SearchOrder, SearchState,
    Session, Slowdown, Snapshot, Terms,
};

use crate::common::{fakes, frame, reload};
use crate::gpu_bed::soft::{SoftGpu, lock};
use crate::gpu_bed::{Bed, SIZE, assert_same, info, rows};
use crate::wait::wait_until;

/// A session over an engine whose members are on `devices` of the bed.
fn session(bed: &Bed, devices: &[usize]) -> (LiveSession, Arc<Engine>) {
    searching(bed, devices, Arc::clone(&bed.factory) as Arc<_>)
}

/// The same, whose searches run what `factory` builds.
fn searching(
    bed: &Bed,
    devices: &[usize],
    factory: Arc<dyn PredictorFactory>,
) -> (LiveSession, Arc<Engine>) {
    let engine = bed.try_start(&bed.matrix(devices, SIZE));
    let engine = Arc::new(engine.expect("starts"));
    let session = LiveSession::new(Arc::clone(&engine), factory, None);
    (session, engine)
}

fn evacuated(session: &mut LiveSession) -> Snapshot {
    let mut shown = session.snapshot();
    wait_until("it is evacuated", || {
        shown = session.snapshot();
        let done = shown.reload.as_ref().map(|r| &r.state);
        matches!(done, Some(ReloadState::Done | ReloadState::Failed(_)))
    });
    shown
}

#[test]
fn a_gpu_is_shown_with_what_its_driver_says() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let (mut session, _engine) = session(&bed, &[0]);
    let shown = session.snapshot();
    let gpu = shown.devices[0].gpu.as_ref().expect("a GPU");
    assert_eq!(
        (gpu.model.as_str(), gpu.capability),
        ("Software GPU", (8, 0))
    );
    assert_eq!(gpu.used, Some(bed.gpu().state.used()));
    assert_eq!(shown.devices[0].kind, "cuda");
    assert_eq!(shown.devices[1].gpu, None);
    assert_eq!(shown.precision, Some(Precision::F32));
}

#[test]
fn a_lost_gpu_is_evacuated_though_nobody_looks_and_says_why() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let expected = bed.reference();
    let (mut session, engine) = session(&bed, &[0]);
    let state = &bed.gpu().state;
    state.computing.close();
    let pending = engine.submit(Request::new(bed.samples())).expect("let in");
    wait_until("a batch computes", || {
        state.launched.load(Ordering::Acquire) > 0
    });
    state.lose();
    // Nobody asks for a snapshot meanwhile.
    let answer = pending.wait().expect("answered");
    let found: Vec<Vec<f32>> = answer.rows().map(<[f32]>::to_vec).collect();
    assert_same(&found, &expected);
    let shown = evacuated(&mut session);
    assert_eq!(shown.health, Health::Degraded("cuda:0 gone".into()));
    assert!(shown.devices[0].lost);
    let why = shown.devices[0].loss.clone().expect("said");
    assert!(why.contains("fell off the bus"), "{why}");
    let said = |text: &str| shown.log.iter().any(|line| line.text.contains(text));
    assert!(said(&why) && said("reload: "), "{:?}", shown.log);
    let mark = format!("cuda:0 lost: {why}");
    let marks = shown.marks.iter();
    assert!(
        marks
            .into_iter()
            .any(|m| m.kind == MarkKind::Device && m.text == mark)
    );
    assert!(
        shown
            .matrix
            .workers()
            .all(|(cell, _)| cell.device == DeviceIndex::new(1))
    );
    assert_eq!(shown.counters.failed, 0);
}

#[test]
fn what_is_on_probation_stays_where_a_gpu_is_lost() {
    let bed = Bed::new(&["cuda:0", "cuda:1", "cpu:0"]);
    let (mut session, engine) = session(&bed, &[2]);
    let mut setup = session.snapshot().setup();
    setup.matrix = bed.matrix(&[0, 2], SIZE);
    let terms = Terms {
        lasts: Duration::from_secs(3600),
        p99: Some(1.2),
        failures: None,
        accuracy: None,
    };
    let apply = Command::Apply(Box::new(setup), Some(terms));
    session.command(apply).expect("applies");
    evacuated(&mut session);
    bed.gpu().state.lose();
    let pending = engine.submit(Request::new(bed.samples())).expect("let in");
    pending.wait().expect("answered");
    let mut shown = session.snapshot();
    wait_until("its workers are gone", || {
        shown = session.snapshot();
        shown
            .matrix
            .workers()
            .all(|(cell, _)| cell.device != DeviceIndex::new(0))
    });
    let probation = shown.probation.expect("there was one");
    assert_eq!(probation.state, ProbationState::Kept);
}

#[test]
fn where_nothing_has_room_the_door_closes_and_says_why() {
    let mut bed = Bed::new(&["cuda:0", "cpu:0"]);
    // Beside the sample pool the partition has room for nobody.
    let footprints = Footprints::plan(&bed.ensemble, &bed.devices);
    let (_, pool) = footprints.pool(&bed.devices).expect("on the host");
    let host = divisi_runtime::device::Host {
        cores: vec![0],
        memory_bytes: pool + (1 << 10),
    };
    let names = ["cuda:0".to_owned(), "cpu:0".to_owned()];
    let found = divisi_runtime::device::gpu::FoundGpus {
        usable: vec![info(0)],
        unusable: Vec::new(),
    };
    let devices = divisi_runtime::device::Devices::named_with(&names, &host, |_| Ok(found.clone()));
    bed.devices = devices.expect("there");
    let (mut session, engine) = session(&bed, &[0]);
    bed.gpu().state.lose();
    let pending = engine.submit(Request::new(bed.samples())).expect("let in");
    assert!(matches!(pending.wait(), Err(Failure::Worker(_))));
    let shown = evacuated(&mut session);
    assert!(
        matches!(shown.health, Health::Closed(_)),
        "{:?}",
        shown.health
    );
    let reload = shown.reload.expect("one failed").state;
    let ReloadState::Failed(why) = reload else {
        panic!("there was no room")
    };
    assert!(why.contains("no device is large enough"), "{why}");
}

#[test]
fn a_gpu_that_works_is_not_lost_by_wish_and_a_lost_one_comes_back() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let (mut session, engine) = session(&bed, &[0, 1]);
    let refused = session
        .command(Command::LoseDevice(DeviceIndex::new(0)))
        .expect_err("it works");
    assert_eq!(
        refused.text(),
        "`cuda:0` is a real device; only simulated devices can be lost or slowed"
    );
    assert!(
        session
            .command(Command::SlowDevice(
                DeviceIndex::new(0),
                Slowdown::nearest(2.0)
            ))
            .is_err()
    );
    bed.gpu().state.lose();
    let pending = engine.submit(Request::new(bed.samples())).expect("let in");
    pending.wait().expect("answered");
    evacuated(&mut session);
    lock(&bed.factory.gpus)[0] = SoftGpu::new(info(0));
    session
        .command(Command::RegainDevice(DeviceIndex::new(0)))
        .expect("opens");
    let shown = session.snapshot();
    assert_eq!(
        (shown.health, &shown.devices[0].loss),
        (Health::Serving, &None)
    );
    assert!(shown.devices[0].gpu.is_some());
    let footprints = engine.footprints();
    let frame = frame(&bed.ensemble, &bed.devices);
    let back = worst_fit(&frame, &bed.devices, &footprints).expect("fits");
    reload(&engine, &back).expect("reloads");
    assert_same(&rows(&engine, bed.samples()), &bed.reference());
}

#[test]
fn a_session_ends_with_a_gpu_that_is_lost_just_then() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    let (session, engine) = session(&bed, &[0]);
    let pending = engine.submit(Request::new(bed.samples())).expect("let in");
    bed.gpu().state.lose();
    drop(session);
    // Answered or failed with a reason, and nothing hangs.
    let _ = pending.wait();
    assert_eq!(engine.telemetry().in_flight(), 0);
}

#[test]
fn a_search_goes_on_over_what_remains() {
    let bed = Bed::new(&["cuda:0", "cpu:0"]);
    // Where it searches is what counts, not how fast kernels are.
    let (mut session, engine) = searching(&bed, &[0, 1], fakes(&bed.ensemble));
    bed.gpu().state.lose();
    let pending = engine.submit(Request::new(bed.samples())).expect("let in");
    pending.wait().expect("answered");
    evacuated(&mut session);
    for (algorithm, evaluator) in [
        (Algorithm::WorstFit, EvaluatorKind::Bench),
        (Algorithm::WorstFit, EvaluatorKind::Model),
    ] {
        let order = SearchOrder {
            algorithm,
            evaluator,
            quiet: false,
            ..SearchOrder::default()
        };
        session
            .command(Command::StartSearch(order))
            .expect("starts");
        let mut shown = session.snapshot();
        wait_until("it ends", || {
            shown = session.snapshot();
            let state = shown.search.as_ref().map(|s| &s.state);
            !matches!(state, Some(SearchState::Running))
        });
        let search = shown.search.expect("one ran");
        assert_eq!(search.state, SearchState::Finished);
        let best = search.progress.best.expect("found");
        assert!(
            best.workers()
                .all(|(cell, _)| cell.device == DeviceIndex::new(1))
        );
    }
}
