//! Plans of setups: made once, stale where what they were made from changed.

use std::sync::Arc;

use divisi_engine::search::evacuate;
use divisi_engine::serving::{
    ApplyError, Engine, EngineOptions, NoFallback, PlanError, Reservation, SettingChange, Setup,
};
use divisi_model::allocation::Cell;
use divisi_model::ensemble::{AnswerFloats, BatchSize, CombinationRule, RuleKind};
use divisi_runtime::device::simulated::find_profile;
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};
use divisi_session::{Command, LiveSession, ReloadState, Session};

use crate::common::{adjust, digits, everywhere, fakes, reload, start, until};

/// Digits on two simulated devices, every member on each.
fn engine() -> Arc<Engine> {
    let ensemble = digits();
    let devices = Devices::simulated(&find_profile("h200").expect("a profile"), 2);
    let matrix = everywhere(&ensemble, &devices);
    let (factory, options) = (fakes(&ensemble), EngineOptions::default());
    let engine = Engine::start(ensemble, devices, &matrix, factory, options);
    Arc::new(engine.expect("starts"))
}

/// The first worker at another size.
fn resized(setup: &Setup, size: u32) -> Setup {
    let cell = Cell {
        device: DeviceIndex::new(0),
        member: MemberIndex::new(0),
    };
    setup.with_matrix(
        setup
            .matrix
            .with_entry(cell, BatchSize::new(size))
            .expect("valid"),
    )
}

fn lose(engine: &Engine, device: usize) {
    let fallback = |matrix: &_| {
        let (lost, devices) = (engine.faults().lost(), engine.devices());
        let moved = evacuate(matrix, &lost, devices, &engine.footprints());
        moved.map_err(|e| NoFallback(e.to_string()))
    };
    engine
        .evacuate(DeviceIndex::new(device), &fallback, &mut |_| {})
        .expect("moves");
}

struct OfItsOwn;

impl CombinationRule for OfItsOwn {
    fn state_width(&self) -> usize {
        1
    }

    fn fold(&self, _: MemberIndex, _: &[f32], _: &mut [f32]) {}

    fn finish(&self, state: AnswerFloats, classes: usize) -> AnswerFloats {
        AnswerFloats::zeroed(state.len() * classes)
    }
}

/// An event that makes a plan stale; the reservation that it returns is to be held.
type Cause = fn(&Arc<Engine>) -> Option<Reservation>;

const CAUSES: [(&str, Cause); 8] = [
    ("another matrix", |engine| {
        let next = resized(&engine.setup(), 16).matrix;
        reload(engine, &next).expect("reloads");
        None
    }),
    ("another policy", |engine| {
        let policy = "opt-wait:3ms".parse().expect("a policy");
        adjust(engine, |setup| setup.policy = policy).expect("suits");
        None
    }),
    ("another combination", |engine| {
        adjust(engine, |setup| {
            setup.combination.rule = RuleKind::MajorityVote
        })
        .expect("suits");
        None
    }),
    ("another segment size", |engine| {
        adjust(engine, |setup| setup.segment_size += 1).expect("the pool holds it");
        None
    }),
    ("a rule of a caller's own", |engine| {
        engine.settings().combine_with(Arc::new(OfItsOwn));
        None
    }),
    ("a device lost", |engine| {
        lose(engine, 1);
        None
    }),
    ("a device lost that ran nothing", |engine| {
        let mut rest = engine.matrix();
        for cell in rest
            .clone()
            .cells()
            .filter(|cell| cell.device == DeviceIndex::new(1))
        {
            rest = rest.with_entry(cell, None).expect("valid");
        }
        reload(engine, &rest).expect("reloads");
        lose(engine, 1);
        None
    }),
    ("memory reserved", |engine| {
        Some(engine.reserve_rest(|| {}).expect("nobody reloads"))
    }),
];

#[test]
fn a_plan_is_stale_once_what_it_was_made_from_changed() {
    for (cause, happens) in CAUSES {
        let engine = engine();
        let to = resized(&engine.setup(), 32);
        let plan = engine.plan(&to).expect("it can be applied");
        let _held = happens(&engine);
        let before = engine.setup();
        let applied = engine.apply(plan, &mut |_| {}).map(drop);
        assert_eq!(applied, Err(ApplyError::Stale), "{cause}");
        assert_eq!(engine.setup(), before, "{cause}: nothing moved");
    }
}

#[test]
fn a_plan_holds_while_all_is_as_it_was_again() {
    let engine = engine();
    let (old, to) = (engine.setup(), resized(&engine.setup(), 32));
    let plan = engine.plan(&to).expect("it can be applied");
    reload(&engine, &resized(&old, 16).matrix).expect("reloads");
    reload(&engine, &old.matrix).expect("reloads");
    drop(engine.reserve_rest(|| {}).expect("nobody reloads"));
    engine
        .apply(plan, &mut |_| {})
        .expect("as when it was made");
    assert_eq!(engine.setup(), to);
}

#[test]
fn one_apply_makes_one_plan() {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    let mut session = LiveSession::new(Arc::clone(&engine), fakes(&ensemble), None);
    let to = resized(&engine.setup(), 64);
    session
        .command(Command::Apply(Box::new(to.clone()), None))
        .expect("it can be applied");
    until(&mut session, |s| {
        s.reload.as_ref().map(|r| &r.state) == Some(&ReloadState::Done)
    });
    assert_eq!(engine.setup(), to);
    assert_eq!(engine.telemetry().plans_made(), 1);
    session.command(Command::Undo).expect("something ran");
    until(&mut session, |s| s.can_redo);
    assert_eq!(engine.telemetry().plans_made(), 2);
    session.preview(&to).expect("it can be applied");
    session
        .command(Command::SetVote(MemberIndex::new(0), false))
        .expect("any time");
    assert_eq!(engine.telemetry().plans_made(), 4, "one each");
}

#[test]
fn what_cannot_be_applied_is_refused_by_the_plan() {
    let engine = engine();
    let old = engine.setup();
    let most = engine.telemetry().capacity();
    let large = Setup {
        segment_size: most + 1,
        ..old.clone()
    };
    let refused = engine.plan(&large).map(drop);
    let size = most + 1;
    assert_eq!(refused, Err(PlanError::SegmentSize { size, most }));
    let mut nobody = old.clone();
    nobody.combination.voting.fill(false);
    let refused = engine.plan(&nobody).map(drop);
    assert!(
        matches!(refused, Err(PlanError::Combination(_))),
        "{refused:?}"
    );
    lose(&engine, 1);
    let refused = engine.plan(&old).map(drop);
    let name = engine.devices().get(DeviceIndex::new(1)).name.clone();
    assert_eq!(refused, Err(PlanError::DeviceLost(name)));
    let elsewhere = start(&digits(), fakes(&digits())).setup();
    let refused = engine.plan(&elsewhere).map(drop);
    assert_eq!(refused, Err(PlanError::OtherFrame));
}

#[test]
fn a_plan_says_what_differs_and_what_it_books() {
    let engine = engine();
    let old = engine.setup();
    let plan = engine.plan(&old).expect("it runs");
    assert!(plan.is_empty() && plan.settings().is_empty() && !plan.changes_pace());
    let mut to = resized(&old, 32);
    to.combination.voting[1] = false;
    to.segment_size = 7;
    let plan = engine.plan(&to).expect("it can be applied");
    assert_eq!((plan.old_setup(), plan.new_setup()), (&old, &to));
    assert_eq!(plan.settings(), SettingChange::between(&old, &to));
    assert_eq!(plan.settings().len(), 2);
    assert!(plan.changes_pace() && plan.paused_members().is_empty());
    let booked = |setup: &Setup| {
        let ledger = engine.ledger(&setup.matrix).expect("it fits");
        [
            ledger.booked(DeviceIndex::new(0)),
            ledger.booked(DeviceIndex::new(1)),
        ]
    };
    let (before, after) = (booked(&old), booked(&to));
    let expected = [(before[0], after[0]), (before[1], after[1])];
    assert_eq!(plan.memory(), expected);
    let mut voting = old.clone();
    voting.combination.voting[1] = false;
    let plan = engine.plan(&voting).expect("it can be applied");
    assert!(!plan.changes_pace(), "the combination alone");
}

#[test]
fn a_rule_of_a_callers_own_goes_when_a_setup_is_applied_and_stays_when_workers_move() {
    let engine = engine();
    engine.settings().combine_with(Arc::new(OfItsOwn));
    lose(&engine, 1);
    let answer = |engine: &Engine| {
        let request = divisi_engine::serving::Request::new(&[0.5; 64]);
        let answer = engine.predict(request).expect("let in").expect("answered");
        answer.rows().map(<[f32]>::to_vec).next().expect("a row")
    };
    assert!(answer(&engine).iter().all(|score| *score == 0.0));
    let same = engine.plan(&engine.setup()).expect("it runs");
    assert!(same.is_empty(), "no other setup");
    assert_eq!(same.setting_words(), Vec::<String>::new());
    let to = resized(&engine.setup(), 32);
    engine.apply_setup(&to, &mut |_| {}).expect("applies");
    assert!(answer(&engine).iter().any(|score| *score != 0.0));
}
