//! Whole setups: applied, compared, undone, put on probation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use candle_core::Tensor;
use divisi_engine::serving::{BuildError, Engine, PredictorFactory, Request};
use divisi_model::allocation::{Cell, Matrix};
use divisi_model::ensemble::{BatchSize, ComputedMember, PolicyKind, RuleKind, VoteWeight, Wait};
use divisi_runtime::compute::{ComputeError, FakePredictor, Predictor};
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{
    Command, LiveSession, LoadPattern, MarkKind, ProbationState, ReloadState, Session, Setup,
    Snapshot, Target, Terms,
};

use crate::common::{digits, fakes, start, until};
use crate::wait::wait_until;

/// Fake members; what is built while it is told so is slow, or does not start.
#[derive(Default)]
struct Moody {
    slow_ms: AtomicU64,
    refuses: AtomicBool,
}

struct Slow(FakePredictor, Duration);

impl PredictorFactory for Moody {
    fn build(
        &self,
        network: ComputedMember,
        _size: BatchSize,
        _pool: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        if self.refuses.load(Ordering::Acquire) {
            return Err(BuildError::Other("told to refuse".into()));
        }
        let slow = Duration::from_millis(self.slow_ms.load(Ordering::Acquire));
        Ok(Box::new(Slow(FakePredictor::new(network.member, 10), slow)))
    }
}

impl Predictor for Slow {
    fn predict(&mut self, rows: usize, i: &Tensor, o: &Tensor) -> Result<(), ComputeError> {
        // What a slow network does: it takes its time.
        let until = Instant::now() + self.1;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        self.0.predict(rows, i, o)
    }
}

fn session() -> (Arc<Engine>, Arc<Moody>, LiveSession) {
    let ensemble = digits();
    let moody = Arc::new(Moody::default());
    let engine = Arc::new(start(&ensemble, Arc::clone(&moody) as _));
    let session = LiveSession::new(Arc::clone(&engine), fakes(&ensemble), None);
    (engine, moody, session)
}

fn settled(session: &mut LiveSession) -> Snapshot {
    until(session, |s| {
        s.reload
            .as_ref()
            .is_some_and(|r| r.state != ReloadState::Running)
    })
}

fn resized(matrix: &Matrix, size: u32) -> Matrix {
    let cell = Cell {
        device: DeviceIndex::new(0),
        member: MemberIndex::new(2),
    };
    matrix
        .with_entry(cell, BatchSize::new(size))
        .expect("valid")
}

/// All that can differ does.
fn other(setup: &Setup) -> Setup {
    let mut combination = setup.combination.clone();
    combination.rule = RuleKind::MajorityVote;
    combination.voting[1] = false;
    let mut precisions = setup.precisions.clone();
    precisions[0] = "int8/f32".parse().expect("a precision");
    Setup {
        models: Arc::clone(&setup.models),
        matrix: resized(&setup.matrix, 64),
        policy: PolicyKind::Segment {
            wait: Wait::nearest(Duration::from_millis(1)),
        },
        combination,
        segment_size: 48,
        precisions,
    }
}

fn apply(session: &mut LiveSession, setup: &Setup, terms: Option<Terms>) {
    let command = Command::Apply(Box::new(setup.clone()), terms);
    session.command(command).expect("it can be applied");
}

#[test]
fn a_whole_setup_is_one_change_and_one_step_back() {
    let (engine, _, mut session) = session();
    let old = session.snapshot().setup();
    let new = other(&old);
    let preview = session.preview(&new).expect("it fits");
    let said = preview.settings.join("; ");
    for words in [
        "policy: ",
        "→ segment",
        "combination: ",
        "no longer votes",
        "→ 48",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(session.preview(&old).expect("runs").settings.is_empty());
    apply(&mut session, &new, None);
    let seen = settled(&mut session);
    assert_eq!(seen.setup(), new);
    assert_eq!(
        engine
            .predict(Request::new(&[0.0; 64 * 200]))
            .map(|a| a.is_ok()),
        Ok(true)
    );
    let again = session.command(Command::Apply(Box::new(new.clone()), None));
    assert!(again.is_err(), "it runs already");
    session.command(Command::Undo).expect("one step");
    let seen = settled(&mut session);
    assert_eq!(
        (seen.setup(), seen.can_undo, seen.can_redo),
        (old.clone(), false, true)
    );
    session.command(Command::Redo).expect("one step");
    let seen = settled(&mut session);
    assert_eq!(seen.setup(), new);
    let why: Vec<&str> = seen.history.iter().map(|r| r.why.as_str()).collect();
    assert_eq!(why, ["start", "applied", "undo", "redo"]);
    let numbers: Vec<u64> = seen.history.iter().map(|r| r.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    let (last, before) = seen.history.split_last().expect("some");
    assert!(last.until.is_none() && before.iter().all(|r| r.until.is_some()));
    assert_eq!(last.setup, new);
    for kind in [MarkKind::Reload, MarkKind::Policy, MarkKind::Combination] {
        assert!(seen.marks.iter().any(|m| m.kind == kind), "{kind:?}");
    }
}

#[test]
fn settings_alone_are_applied_too() {
    let (_, _, mut session) = session();
    let old = session.snapshot().setup();
    let new = Setup {
        policy: PolicyKind::NoWait,
        segment_size: 16,
        ..old.clone()
    };
    apply(&mut session, &new, None);
    let seen = settled(&mut session);
    assert_eq!((seen.setup(), seen.can_undo), (new, true));
}

#[test]
fn where_a_worker_does_not_start_all_is_as_before() {
    let (_, moody, mut session) = session();
    let old = session.snapshot().setup();
    moody.refuses.store(true, Ordering::Release);
    apply(&mut session, &other(&old), None);
    let seen = settled(&mut session);
    let state = seen.reload.as_ref().map(|r| r.state.clone());
    assert!(matches!(state, Some(ReloadState::Failed(_))), "{state:?}");
    assert_eq!((seen.setup(), seen.can_undo), (old, false));
    assert_eq!(seen.history.len(), 1);
    assert_eq!(seen.probation, None);
}

#[test]
fn what_cannot_be_is_refused_before_anything_moves() {
    let (_, _, mut session) = session();
    let old = session.snapshot().setup();
    let mut nobody = old.clone();
    nobody.combination.voting = vec![false; 6];
    let mut odd = old.clone();
    odd.combination.weights = vec![VoteWeight::default(); 2];
    let none = Setup {
        segment_size: 0,
        ..old.clone()
    };
    let huge = Setup {
        segment_size: 1 << 30,
        ..old.clone()
    };
    for wrong in [nobody, odd, none, huge] {
        assert!(session.preview(&wrong).is_err());
        let applied = session.command(Command::Apply(Box::new(wrong), None));
        assert!(applied.is_err());
    }
    let terms = Terms {
        lasts: Duration::ZERO,
        p99: None,
        failures: None,
        accuracy: None,
    };
    let applied = session.command(Command::Apply(Box::new(other(&old)), Some(terms)));
    assert!(applied.is_err(), "a probation of no time");
    assert_eq!(session.snapshot().setup(), old);
}

fn load(session: &mut LiveSession) {
    let pattern = LoadPattern::closed(2, 4);
    session
        .command(Command::StartLoad(pattern))
        .expect("starts");
    until(session, |s| s.counters.answered > 200);
}

fn terms(lasts: Duration) -> Terms {
    Terms {
        lasts,
        p99: Some(3.0),
        failures: Some(0.01),
        accuracy: None,
    }
}

#[test]
fn what_is_slow_on_probation_rolls_back_by_itself() {
    let (engine, moody, mut session) = session();
    load(&mut session);
    let old = session.snapshot().setup();
    moody.slow_ms.store(100, Ordering::Release);
    let elsewhere = Cell {
        device: DeviceIndex::new(1),
        member: MemberIndex::new(2),
    };
    let both = resized(&old.matrix, 64).with_entry(elsewhere, BatchSize::new(64));
    let new = old.with_matrix(both.expect("valid"));
    apply(&mut session, &new, Some(terms(Duration::from_secs(8))));
    // Nobody looks meanwhile: only the engine is asked what it runs.
    wait_until("the new matrix runs", || engine.matrix() == new.matrix);
    wait_until("the old matrix is back", || engine.matrix() == old.matrix);
    let seen = settled(&mut session);
    assert_eq!(seen.setup(), old);
    let probation = seen.probation.expect("it was on probation");
    let ProbationState::Failed(why) = &probation.state else {
        panic!("{probation:?}");
    };
    assert!(why.contains("p99"), "{why}");
    assert!(probation.before.answered > 0 && probation.after.answered > 0);
    let last = seen.history.last().expect("it runs");
    assert!(last.why.starts_with("rolled back: p99"), "{}", last.why);
    let mark = seen.marks.last().expect("a mark");
    assert_eq!(mark.kind, MarkKind::Rollback);
    assert!(seen.log.iter().any(|l| l.text.contains("probation failed")));
    assert!(
        !seen.can_undo && seen.can_redo,
        "the failed one can be had again"
    );
    assert_eq!(seen.counters.failed, 0);
}

#[test]
fn what_does_as_well_passes_and_an_operator_may_end_it() {
    let (_, _, mut session) = session();
    let old = session.snapshot().setup();
    let new = old.with_matrix(resized(&old.matrix, 64));
    apply(&mut session, &new, Some(terms(Duration::from_millis(50))));
    let seen = until(&mut session, |s| {
        let state = s.probation.as_ref().map(|p| p.state.clone());
        state == Some(ProbationState::Passed)
    });
    assert_eq!(seen.setup(), new);
    assert!(
        seen.log
            .iter()
            .any(|l| l.text.contains("no requests arrived"))
    );
    assert!(
        session.command(Command::EndProbation(true)).is_err(),
        "over"
    );

    let long = terms(Duration::from_secs(3600));
    apply(&mut session, &old, Some(long));
    until(&mut session, |s| {
        s.probation
            .as_ref()
            .is_some_and(|p| p.state == ProbationState::Watching)
    });
    session.command(Command::EndProbation(true)).expect("kept");
    let seen = session.snapshot();
    assert_eq!(seen.probation.map(|p| p.state), Some(ProbationState::Kept));
    assert_eq!(seen.matrix, old.matrix);

    apply(&mut session, &new, Some(long));
    until(&mut session, |s| {
        s.probation
            .as_ref()
            .is_some_and(|p| p.state == ProbationState::Watching)
    });
    session.command(Command::EndProbation(false)).expect("goes");
    let seen = settled(&mut session);
    assert_eq!(seen.setup(), old);
    let state = seen.probation.map(|p| p.state);
    assert!(
        matches!(state, Some(ProbationState::Failed(_))),
        "{state:?}"
    );
}

#[test]
fn another_change_ends_a_probation_with_a_note() {
    let (_, _, mut session) = session();
    let old = session.snapshot().setup();
    let new = old.with_matrix(resized(&old.matrix, 64));
    apply(&mut session, &new, Some(terms(Duration::from_secs(3600))));
    until(&mut session, |s| s.probation.is_some());
    session
        .command(Command::SetVote(MemberIndex::new(0), false))
        .expect("any time");
    let seen = session.snapshot();
    assert_eq!(seen.probation.map(|p| p.state), Some(ProbationState::Kept));
    assert!(
        seen.log
            .iter()
            .any(|l| l.text.starts_with("probation ended early"))
    );
}

#[test]
fn members_and_workers_show_what_they_do() {
    let (_, _, mut session) = session();
    let wrong = Target {
        latency: Duration::ZERO,
        share: 0.99,
    };
    assert!(session.command(Command::SetTarget(Some(wrong))).is_err());
    let target = Target {
        latency: Duration::from_nanos(1500),
        ..wrong
    };
    session
        .command(Command::SetTarget(Some(target)))
        .expect("sensible");
    load(&mut session);
    let seen = until(&mut session, |s| {
        let entries = s.entries.iter().all(|e| e.latency.since.summary.count > 0);
        entries && s.members.iter().all(|m| m.series.iter().any(|v| *v > 0.0))
    });
    assert_eq!(seen.target, Some(target));
    assert!(seen.latency.since.missed.is_some_and(|m| m > 0.9));
    for member in &seen.members {
        assert_eq!(member.series.len(), seen.throughput.series.len());
        let latency = &member.latency.since;
        assert!(latency.summary.p50 <= latency.summary.p99);
        assert!(latency.missed.is_some_and(|m| m > 0.5));
        let bars: u64 = latency.buckets.iter().map(|b| b.count).sum();
        assert_eq!(bars, latency.summary.count);
        assert!(latency.split.computing >= 0.0 && latency.split.queueing > 0.0);
    }
    let by_member: u64 = seen
        .members
        .iter()
        .map(|m| m.latency.since.summary.count)
        .sum();
    let by_entry: u64 = seen
        .entries
        .iter()
        .map(|e| e.latency.since.summary.count)
        .sum();
    assert_eq!(by_member, by_entry);
    let running = seen.history.last().expect("it runs");
    assert!(running.did.answered > 200 && running.did.samples_per_s > 0.0);
    assert!(running.did.p99 >= running.did.p50 && running.did.p50.is_some());
    let last = seen.marks.last().map(|m| m.kind);
    assert_eq!(last, Some(MarkKind::Load));
    session.command(Command::ClearLatency).expect("any time");
    session.command(Command::StopLoad).expect("any time");
    let seen = session.snapshot();
    assert!(seen.history.last().is_some_and(|r| r.did.answered > 200));
}

#[test]
fn marks_and_history_are_bounded() {
    let (_, _, mut session) = session();
    for round in 0..100 {
        let vote = Command::SetVote(MemberIndex::new(0), round % 2 == 1);
        session.command(vote).expect("any time");
    }
    let seen = session.snapshot();
    assert!(seen.marks.len() <= 64 && seen.history.len() <= 32);
    assert_eq!(seen.history.last().map(|r| r.number), Some(101));
}

#[test]
fn a_session_may_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<LiveSession>();
}
