//! The precision of a member as a part of a setup: planned, applied while serving, undone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use divisi_engine::serving::{
    ApplyStep, BuildError, Engine, EngineOptions, NetworkFactory, PlanError, PredictorFactory,
    Request, SettingChange, Setup,
};
use divisi_model::allocation::{Cell, Footprints, Matrix, WorkerChange};
use divisi_model::ensemble::{BatchSize, ComputedMember, Ensemble, MemberPrecision};
use divisi_runtime::compute::{FakePredictor, Predictor};
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::device::{DeviceIndex, Devices, Host, MemberIndex};
use divisi_session::{Command, LiveSession, ReloadState, Session, Snapshot};

use crate::common::{digits, everywhere, networks, start, two_devices, until};
use crate::wait::wait_until;

fn precision(name: &str) -> MemberPrecision {
    name.parse().expect("a precision")
}

/// The running setup with the first member in other numbers.
fn first_in(setup: &Setup, name: &str) -> Setup {
    setup.with_precision(MemberIndex::new(0), precision(name))
}

fn answer(engine: &Engine, row: &[f32]) -> Vec<f32> {
    let outcome = engine.predict(Request::new(row)).expect("let in");
    let answer = outcome.expect("answered");
    answer.rows().flatten().copied().collect()
}

fn is_near(a: &[f32], b: &[f32]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5)
}

/// The digit whose answers differ most between both ensembles.
fn telling_row(one: &Arc<Ensemble>, two: &Arc<Ensemble>) -> Vec<f32> {
    let samples = one.calibration.as_deref().expect("digits");
    let engines = [one, two].map(|ensemble| start(ensemble, networks(ensemble)));
    let distance = |row: &[f32]| {
        let [a, b] = [0, 1].map(|at| answer(&engines[at], row));
        let each = a.iter().zip(&b).map(|(a, b)| (a - b).abs());
        each.fold(0.0, f32::max)
    };
    let rows = (0..256).map(|at| samples.rows(at, 1).to_vec());
    let most = rows.max_by(|a, b| distance(a).total_cmp(&distance(b)));
    most.expect("some digits")
}

#[test]
fn a_precision_is_applied_and_undone_while_requests_are_answered() {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, networks(&ensemble)));
    let old = engine.setup();
    let new = old.with_precision(MemberIndex::new(4), precision("int8"));
    let int8 = Arc::new(ensemble.in_precisions(&new.precisions));
    let row = telling_row(&ensemble, &int8);
    let before = answer(&engine, &row);
    let over = Arc::new(AtomicBool::new(false));
    let asking = {
        let (engine, over, row) = (Arc::clone(&engine), Arc::clone(&over), row.to_vec());
        thread::spawn(move || {
            let mut seen = Vec::new();
            while !over.load(Ordering::Acquire) {
                seen.push(answer(&engine, &row));
            }
            seen
        })
    };
    let changes = || engine.settings().answer_changes();
    let known = changes();
    let plan = engine.apply_setup(&new, &mut |_| {}).expect("applies");
    assert_eq!(engine.setup(), *plan.new_setup());
    assert_eq!(
        changes(),
        known + 2,
        "answers of before and meanwhile are not kept"
    );
    let after = answer(&engine, &row);
    engine.apply_setup(&old, &mut |_| {}).expect("comes back");
    assert_eq!(engine.setup(), old);
    over.store(true, Ordering::Release);
    let seen = asking.join().expect("no request is lost");
    assert!(!is_near(&before, &after), "other numbers");
    assert!(is_near(&before, &answer(&engine, &row)), "those of before");
    let either = |found: &Vec<f32>| is_near(found, &before) || is_near(found, &after);
    assert!(!seen.is_empty() && seen.iter().all(either));
}

#[test]
fn workers_of_the_member_alone_are_built_again_before_old_ones_drain() {
    let ensemble = digits();
    let engine = start(&ensemble, networks(&ensemble));
    let new = first_in(&engine.setup(), "int8");
    let plan = engine.plan(&new).expect("it fits");
    let changed = plan.reload().difference.changed();
    let changed: Vec<_> = changed.map(|c| (c.cell.member.get(), c.change)).collect();
    let size = BatchSize::new(8).expect("a size");
    assert_eq!(changed, [(0, WorkerChange::Rebuild(size)); 2]);
    assert_eq!(
        plan.setting_words(),
        [format!(
            "precision of {}: f32 → int8",
            ensemble.members[0].name
        )]
    );
    assert!(plan.changes_pace() && plan.paused_members().is_empty());
    let mut steps = Vec::new();
    engine
        .apply(plan, &mut |step| steps.push(step))
        .expect("applies");
    let at = |is: fn(&ApplyStep) -> bool| steps.iter().position(is);
    let started = at(|s| matches!(s, ApplyStep::Serve)).expect("they serve");
    let drained = at(|s| matches!(s, ApplyStep::Drain(_))).expect("the old ones go");
    assert!(started < drained, "{steps:?}");
    let set = steps.last().expect("some");
    assert!(matches!(
        set,
        ApplyStep::Set(SettingChange::Precision(member, _, _)) if member.get() == 0
    ));
}

#[test]
fn the_ledger_books_what_the_member_takes_in_its_new_numbers() {
    let ensemble = digits();
    let engine = start(&ensemble, networks(&ensemble));
    let new = first_in(&engine.setup(), "int8");
    let computed = ensemble.in_precisions(&new.precisions);
    let expected = Footprints::plan(&computed, engine.devices());
    let plan = engine.plan(&new).expect("it fits");
    let device = DeviceIndex::new(0);
    let booked = |footprints: &Footprints| {
        let ledger = footprints.book(&new.matrix, engine.devices());
        ledger.expect("it fits").booked(device)
    };
    let [before, after] = [&*engine.footprints(), plan.footprints()].map(booked);
    assert_eq!(plan.memory()[0], (before, after));
    assert_ne!(before, after);
    engine.apply(plan, &mut |_| {}).expect("applies");
    let ledger = engine.ledger(&new.matrix).expect("runs");
    assert_eq!(ledger.booked(device), after);
    let cell = Cell {
        device,
        member: MemberIndex::new(0),
    };
    let size = BatchSize::new(8).expect("a size");
    assert_eq!(
        engine.footprints().bytes(cell, size),
        expected.bytes(cell, size)
    );
}

/// So much memory for two partitions.
fn devices(bytes: u64) -> Devices {
    Devices::default_of(&Host {
        cores: vec![0, 1],
        memory_bytes: bytes,
    })
}

/// The bytes that all workers and the pool take.
fn all_bytes(ensemble: &Ensemble, matrix: &Matrix) -> u64 {
    let roomy = two_devices();
    let ledger = Footprints::plan(ensemble, &roomy).book(matrix, &roomy);
    ledger.expect("room").booked(DeviceIndex::new(0))
}

fn engine_in(ensemble: &Arc<Ensemble>, bytes: u64) -> Engine {
    let devices = devices(bytes);
    let matrix = everywhere(ensemble, &devices);
    let options = EngineOptions::default();
    Engine::start(
        Arc::clone(ensemble),
        devices,
        &matrix,
        networks(ensemble),
        options,
    )
    .expect("it fits")
}

/// The digits in the numbers in which they take less memory, with the name of the others, and what
/// they take in each.
fn lean() -> (Arc<Ensemble>, &'static str, [u64; 2]) {
    let float = digits();
    let int8 = Arc::new(float.in_precisions(&[precision("int8"); 6]));
    let matrix = everywhere(&float, &two_devices());
    let [one, two] = [&float, &int8].map(|ensemble| all_bytes(ensemble, &matrix));
    match one < two {
        true => (float, "int8", [one, two]),
        false => (int8, "f32", [two, one]),
    }
}

fn all_in(setup: &Setup, name: &str) -> Setup {
    Setup {
        precisions: vec![precision(name); setup.precisions.len()],
        ..setup.clone()
    }
}

#[test]
fn numbers_that_do_not_fit_are_refused_and_nothing_moves() {
    let (ensemble, other, [least, most]) = lean();
    let engine = engine_in(&ensemble, (least + most) / 2);
    let old = engine.setup();
    let refused = engine.plan(&all_in(&old, other)).map(drop);
    assert!(
        matches!(refused, Err(PlanError::DoesNotFit(_))),
        "{refused:?}"
    );
    assert_eq!(engine.setup(), old);
}

#[test]
fn where_both_do_not_fit_workers_in_the_way_drain_first() {
    let (ensemble, other, [_, most]) = lean();
    let engine = engine_in(&ensemble, most + 4096);
    let plan = engine.plan(&all_in(&engine.setup(), other)).expect("fits");
    assert!(!plan.reload().early.is_empty());
    engine.apply(plan, &mut |_| {}).expect("applies");
    let row = ensemble.calibration.as_deref().expect("digits").rows(0, 1);
    assert_eq!(answer(&engine, &row).len(), 10);
}

#[test]
fn numbers_of_gpus_change_nothing_where_there_are_none() {
    let ensemble = digits();
    let engine = start(&ensemble, networks(&ensemble));
    let old = engine.setup();
    for name in ["f16", "tf32", "f32/bf16"] {
        let plan = engine.plan(&first_in(&old, name)).expect("fits");
        assert!(plan.is_empty() && plan.settings().is_empty(), "{name}");
    }
    let plan = engine.plan(&first_in(&old, "auto")).expect("fits");
    assert!(!plan.is_empty(), "it is a wish of its own");
}

#[test]
fn as_many_precisions_as_members_are_expected() {
    let ensemble = digits();
    let engine = start(&ensemble, networks(&ensemble));
    let few = Setup {
        precisions: vec![precision("f32")],
        ..engine.setup()
    };
    let expected = PlanError::Precisions {
        found: 1,
        expected: 6,
    };
    assert_eq!(engine.plan(&few).map(drop), Err(expected));
    assert!(few.check().is_err());
}

#[test]
fn a_network_is_lowered_once_for_each_precision_that_somebody_holds() {
    let ensemble = digits();
    let factory = Arc::new(NetworkFactory::new(Arc::clone(&ensemble)));
    let engine = start(&ensemble, Arc::clone(&factory) as _);
    let held = |name: &str| {
        let network = ComputedMember {
            member: MemberIndex::new(0),
            precision: precision(name),
        };
        factory.hold(network).is_some()
    };
    assert_eq!((held("f32"), held("int8")), (true, false));
    let new = first_in(&engine.setup(), "int8");
    engine.apply_setup(&new, &mut |_| {}).expect("applies");
    assert_eq!((held("f32"), held("int8")), (false, true));
}

/// Fails the first batch of a member that is computed otherwise than at first, and keeps what was
/// built.
#[derive(Default)]
struct Restarts {
    built: Mutex<Vec<ComputedMember>>,
    panics: Arc<AtomicBool>,
}

struct Restarted(FakePredictor, Arc<AtomicBool>);

impl PredictorFactory for Restarts {
    fn build(
        &self,
        network: ComputedMember,
        _size: BatchSize,
        _pool: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        self.built.lock().expect("no panic").push(network);
        let fake = FakePredictor::new(network.member, 10);
        Ok(Box::new(Restarted(fake, Arc::clone(&self.panics))))
    }
}

impl Predictor for Restarted {
    fn predict(
        &mut self,
        rows: usize,
        input: &candle_core::Tensor,
        output: &candle_core::Tensor,
    ) -> Result<(), divisi_runtime::compute::ComputeError> {
        assert!(!self.1.swap(false, Ordering::AcqRel), "told to panic");
        self.0.predict(rows, input, output)
    }
}

#[test]
fn a_worker_that_panicked_is_built_again_in_the_numbers_that_it_had() {
    let ensemble = digits();
    let factory = Arc::new(Restarts::default());
    let engine = start(&ensemble, Arc::clone(&factory) as _);
    let new = all_in(&engine.setup(), "int8");
    engine.apply_setup(&new, &mut |_| {}).expect("applies");
    let count = || factory.built.lock().expect("no panic").len();
    assert_eq!(count(), 24, "all twelve workers, twice");
    factory.panics.store(true, Ordering::Release);
    let failed = engine.predict(Request::new(&[0.0; 64])).expect("let in");
    assert!(failed.is_err());
    wait_until("it is built again", || count() == 25);
    let built = factory.built.lock().expect("no panic");
    let int8 = precision("int8").cores;
    assert!(built[12..].iter().all(|n| n.precision.cores == int8));
}

fn settled(session: &mut LiveSession) -> Snapshot {
    until(session, |shown| {
        let reload = shown.reload.as_ref();
        reload.is_some_and(|reload| reload.state != ReloadState::Running)
    })
}

#[test]
fn a_session_shows_applies_and_undoes_it_as_one_change() {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, networks(&ensemble)));
    let mut session = LiveSession::new(engine, networks(&ensemble), None);
    let old = session.snapshot().setup();
    let new = first_in(&old, "int8");
    let preview = session.preview(&new).expect("it fits");
    assert_eq!(preview.settings.len(), 1);
    let apply = Command::Apply(Box::new(new.clone()), None);
    session.command(apply).expect("it can be applied");
    let seen = settled(&mut session);
    assert_eq!(seen.setup(), new);
    assert_eq!(seen.members[0].precision.to_string(), "int8");
    assert_eq!(seen.history.last().map(|ran| &ran.setup), Some(&new));
    let said = |text: &str| seen.marks.iter().any(|mark| mark.text.contains(text));
    assert!(said("f32 → int8"), "{:?}", seen.marks);
    session.command(Command::Undo).expect("one step");
    assert_eq!(settled(&mut session).setup(), old);
}
