//! Changes of what runs in virtual time: the machine alone, without engine or thread.

use std::num::NonZeroU64;
use std::time::Duration;

use divisi_engine::changes::{
    Baseline, ChangeAction, ChangeEvent, ChangeMachine, ChangeOrigin, ChangeRefusal, ChangeStatus,
    ChangeWork, GoalEvidence, JudgeVerdict, MarkKind, PlannedChange, ProbationState, ReloadState,
    Terms, WatchedBy,
};
use divisi_engine::deployment::{Applied, CatalogueChange, DeploymentError, Handover};
use divisi_engine::serving::{ApplyError, ApplyStep, NoFallback, PlanError, SettingChange, Setup};
use divisi_model::allocation::{Cell, Matrix};
use divisi_model::catalogue::ModelCopy;
use divisi_model::codes::{Code, Coded};
use divisi_model::ensemble::{BatchSize, PolicyKind};
use divisi_model::metrics::{Distribution, LatencySummary, Reading};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use proptest::prelude::*;

use crate::common::{digits, everywhere, two_devices};

fn first() -> Setup {
    let ensemble = digits();
    Setup {
        models: [copy("digits", 1)].into(),
        matrix: everywhere(&ensemble, &two_devices()),
        policy: PolicyKind::NoWait,
        combination: ensemble.combination(),
        segment_size: 32,
        precisions: ensemble.precisions(),
    }
}

fn copy(name: &str, copy: u64) -> ModelCopy {
    ModelCopy {
        name: name.into(),
        version: NonZeroU64::MIN,
        copy,
    }
}

/// The setup with a model more, or without it if it is there.
fn toggled(setup: &Setup, name: &str) -> Setup {
    let mut models = setup.models.to_vec();
    match models.iter().position(|model| &*model.name == name) {
        Some(at) => drop(models.remove(at)),
        None => models.push(copy(name, 7)),
    }
    Setup {
        models: models.into(),
        ..setup.clone()
    }
}

/// Drives a machine as an engine would, in no time at all.
struct Drive {
    machine: ChangeMachine,
    running: Setup,
    reading: Reading,
    work: Option<ChangeWork>,
    look_at: Option<Duration>,
    log: Vec<String>,
    cleared: usize,
    /// The requested change.
    asked: Option<Setup>,
    /// The last verdict on a policy's change.
    verdict: Option<JudgeVerdict>,
}

const SECOND: Duration = Duration::from_secs(1);

impl Drive {
    fn new() -> Self {
        let running = first();
        Drive {
            machine: ChangeMachine::new(running.clone(), Reading::default(), true),
            running,
            reading: Reading::default(),
            work: None,
            look_at: None,
            log: Vec::new(),
            cleared: 0,
            asked: None,
            verdict: None,
        }
    }

    /// Time goes by and requests are answered, `late` of a hundred in 50 ms.
    fn serve(&mut self, seconds: u32, late: u64) {
        let answered = 1000 * u64::from(seconds);
        let slow = answered * late / 100;
        self.reading.at += SECOND * seconds;
        self.reading.answered += answered;
        self.reading.latency.record(5_000, answered - slow);
        self.reading.latency.record(50_000, slow);
    }

    fn step(&mut self, event: ChangeEvent) -> Result<(), ChangeRefusal> {
        let asked = match &event {
            ChangeEvent::Requested { change, .. } | ChangeEvent::Adjusted { change, .. } => {
                Some(change.new.clone())
            }
            _ => None,
        };
        for action in self.machine.step(self.reading.at, event)? {
            match action {
                ChangeAction::Log(_, text) => self.log.push(text),
                ChangeAction::ClearLatencies => self.cleared += 1,
                ChangeAction::SetSettings => self.running = asked.clone().expect("is asked for"),
                ChangeAction::Run(work) => {
                    self.asked = asked.clone();
                    assert!(self.work.replace(work).is_none(), "one work");
                }
                ChangeAction::LookAt(at) => self.look_at = Some(at),
                ChangeAction::Judged(verdict) => self.verdict = Some(verdict),
            }
        }
        Ok(())
    }

    fn plan(&self, to: &Setup) -> Box<PlannedChange> {
        Box::new(PlannedChange {
            old: self.running.clone(),
            new: to.clone(),
            is_empty: self.running == *to,
            is_planned: true,
            handover: Handover::Beside,
        })
    }

    fn request(
        &mut self,
        to: &Setup,
        terms: Option<Terms>,
        origin: ChangeOrigin,
    ) -> Result<(), ChangeRefusal> {
        self.request_watched(to, terms.map(WatchedBy::Requests), origin)
    }

    fn request_watched(
        &mut self,
        to: &Setup,
        watch: Option<WatchedBy>,
        origin: ChangeOrigin,
    ) -> Result<(), ChangeRefusal> {
        let change = self.plan(to);
        self.step(ChangeEvent::Requested {
            change,
            watch,
            origin,
        })
    }

    /// A policy requests a change and watches its queries.
    fn follow(&mut self, to: &Setup, continues: bool) -> Result<(), ChangeRefusal> {
        let watch = WatchedBy::Goals {
            evidence: Box::new(goals(0, 0)),
            continues,
        };
        self.request_watched(to, Some(watch), ChangeOrigin::Policy)
    }

    /// A policy makes a change, together with its last one if that is on probation.
    fn follow_load(&mut self, to: &Setup) {
        let begun = self.follow(to, self.machine.is_judging());
        begun.expect("nothing else is under way");
        self.finish();
    }

    /// Some seconds pass, in which so many of a hundred queries miss a goal. Returns the verdict.
    fn see_goals(&mut self, seconds: u64, missed: u64) -> Option<JudgeVerdict> {
        self.verdict = None;
        let evidence = Box::new(goals(seconds, missed));
        let seen = self.step(ChangeEvent::GoalsSeen(evidence));
        seen.expect("never refused");
        self.verdict.take()
    }

    fn vote(&mut self, member: MemberIndex, votes: bool) -> Result<(), ChangeRefusal> {
        let combination = self.running.combination.with_vote(member, votes);
        let to = Setup {
            combination: combination.expect("somebody votes"),
            ..self.running.clone()
        };
        let change = self.plan(&to);
        self.step(ChangeEvent::Adjusted {
            change,
            origin: ChangeOrigin::Vote("mlp votes".into()),
            reading: Box::new(self.reading.clone()),
        })
    }

    fn lost(&mut self, device: DeviceIndex) {
        let reason = "fell off the bus".into();
        let told = self.step(ChangeEvent::DeviceLost { device, reason });
        told.expect("never refused");
    }

    fn begin(&mut self) {
        let whole = self.reading.clone();
        let wanted = self.machine.baseline_wanted().is_some();
        let baseline = wanted.then(|| {
            Box::new(Baseline {
                whole,
                pieces: Vec::new(),
            })
        });
        let latency = Distribution {
            summary: LatencySummary {
                count: 7,
                ..LatencySummary::default()
            },
            ..Distribution::default()
        };
        let latency = Box::new(latency);
        let began = self.step(ChangeEvent::Began { baseline, latency });
        began.expect("never refused");
    }

    fn end(&mut self, result: Result<Setup, DeploymentError>) {
        let result = result.map(|now| self.running = now).map_err(Into::into);
        let reading = Box::new(self.reading.clone());
        let ended = self.step(ChangeEvent::Ended {
            result: result.map(|()| Applied::default()),
            running: Box::new(self.running.clone()),
            before: reading.clone(),
            reading,
            graded: true,
        });
        ended.expect("never refused");
    }

    /// Carries the work out; says what it was.
    fn finish(&mut self) -> ChangeWork {
        let work = self.work.take().expect("something is to be done");
        self.begin();
        let result = match &work {
            ChangeWork::Apply(_) => Ok(self.asked.take().expect("is asked for")),
            ChangeWork::ApplySetup(setup, _) => Ok(Setup::clone(setup)),
            ChangeWork::Evacuate(device) => {
                let moved = without(&self.running.matrix, *device);
                Ok(self.running.with_matrix(moved))
            }
            ChangeWork::Abandon(_) => Err(no_fallback("shutting down")),
        };
        self.end(result);
        work
    }

    fn apply(&mut self, to: &Setup, terms: Option<Terms>) {
        let begun = self.request(to, terms, ChangeOrigin::Applied);
        begun.expect("nothing else is under way");
        self.finish();
    }

    /// Looks when it is due, and says whether it was.
    fn look(&mut self) -> bool {
        self.look_on(false)
    }

    /// Looks when it is due, on a host that other programs disturbed meanwhile or not.
    fn look_on(&mut self, is_disturbed: bool) -> bool {
        let due = self.look_at.is_some_and(|at| at <= self.reading.at);
        if due {
            self.look_at = None;
            let looked = self.step(ChangeEvent::Looked {
                reading: Box::new(self.reading.clone()),
                in_flight: 0,
                is_disturbed,
            });
            looked.expect("never refused");
        }
        due
    }

    fn status(&self) -> ChangeStatus {
        self.machine.status(&self.reading)
    }

    fn probation(&self) -> Option<ProbationState> {
        self.status().probation.map(|p| p.state)
    }

    fn origins(&self) -> Vec<String> {
        let history = self.status().history.into_iter();
        history.map(|ran| ran.why).collect()
    }
}

fn no_fallback(why: &str) -> DeploymentError {
    ApplyError::from(NoFallback(why.into())).into()
}

fn without(matrix: &Matrix, device: DeviceIndex) -> Matrix {
    let cells = matrix.cells().filter(|cell| cell.device == device);
    cells.fold(matrix.clone(), |matrix, cell| {
        matrix
            .with_entry(cell, None)
            .expect("the other device serves")
    })
}

fn resized(setup: &Setup, size: u32) -> Setup {
    let cell = Cell {
        device: DeviceIndex::new(0),
        member: MemberIndex::new(2),
    };
    setup.with_matrix(
        setup
            .matrix
            .with_entry(cell, BatchSize::new(size))
            .expect("valid"),
    )
}

/// The evidence some seconds after a policy's change, with so many missed goals in a hundred.
fn goals(seconds: u64, missed: u64) -> GoalEvidence {
    let second = |missed: u64| Reading {
        answered: 5 * (100 - missed),
        failed: 5 * missed,
        ..Reading::default()
    };
    GoalEvidence {
        before: vec![second(0); 10],
        after: vec![second(missed); seconds as usize],
        counted: Duration::from_secs(seconds),
        ..GoalEvidence::default()
    }
}

fn terms(seconds: u64) -> Option<Terms> {
    Some(Terms {
        lasts: Duration::from_secs(seconds),
        p99: Some(2.0),
        failures: Some(0.01),
        accuracy: None,
    })
}

#[test]
fn a_change_is_shown_logged_marked_and_remembered() {
    let mut drive = Drive::new();
    let old = drive.running.clone();
    let new = Setup {
        policy: "opt-wait:5ms".parse().expect("a policy"),
        ..resized(&old, 64)
    };
    let begun = drive.request(&new, None, ChangeOrigin::Search);
    begun.expect("nothing else is under way");
    let shown = drive.status().reload.expect("at once");
    assert_eq!((shown.state, shown.steps.len()), (ReloadState::Running, 0));
    let work = drive.work.take().expect("to be done");
    assert!(matches!(work, ChangeWork::Apply(_)), "{work:?}");
    drive.begin();
    drive.reading.at += SECOND;
    let set = ApplyStep::Set(SettingChange::Policy(old.policy, new.policy));
    for step in [ApplyStep::Serve, set] {
        drive
            .step(ChangeEvent::Stepped(step))
            .expect("never refused");
    }
    let shown = drive.status().reload.expect("one is under way");
    assert_eq!(
        shown.steps,
        ["new workers serve", "policy: no-wait → opt-wait:5ms"]
    );
    assert_eq!(shown.elapsed, SECOND);
    drive.reading.at += SECOND;
    drive.end(Ok(new));
    let seen = drive.status();
    let shown = seen.reload.clone().expect("the last one");
    assert_eq!(
        (shown.state, shown.elapsed),
        (ReloadState::Done, 2 * SECOND)
    );
    assert_eq!(
        drive.log,
        ["reload: 1 entry changed, policy: no-wait → opt-wait:5ms in 2000.0 ms"]
    );
    let marks: Vec<_> = seen
        .marks
        .iter()
        .map(|m| (m.kind, m.text.as_str()))
        .collect();
    assert_eq!(
        marks,
        [
            (MarkKind::Reload, "1 entry changed"),
            (MarkKind::Policy, "no-wait → opt-wait:5ms"),
        ]
    );
    assert_eq!(drive.origins(), ["start", "search"]);
    assert_eq!((seen.can_undo, seen.can_redo), (true, false));
    assert_eq!(drive.cleared, 1);
    assert_eq!(seen.latency_before.map(|l| l.summary.count), Some(7));
}

#[test]
fn another_combination_leaves_latencies_alone() {
    let mut drive = Drive::new();
    let mut new = drive.running.clone();
    new.combination.voting[1] = false;
    drive.apply(&new, None);
    assert_eq!(drive.cleared, 0);
    assert_eq!(drive.status().latency_before, None);
}

#[test]
fn what_runs_already_is_refused() {
    let mut drive = Drive::new();
    let same = drive.running.clone();
    let refused = drive.request(&same, None, ChangeOrigin::Applied);
    assert_eq!(refused, Err(ChangeRefusal::Nothing));
    assert_eq!(drive.status().reload, None);
}

#[test]
fn one_change_at_a_time() {
    let mut drive = Drive::new();
    let (old, new) = (drive.running.clone(), resized(&drive.running, 64));
    drive.apply(&new, terms(60));
    drive
        .request(&resized(&new, 128), None, ChangeOrigin::Applied)
        .expect("it ends the probation");
    let under_way = Err(ChangeRefusal::UnderWay);
    let before = drive.status();
    assert_eq!(drive.request(&old, None, ChangeOrigin::Undo), under_way);
    assert_eq!(
        drive.request(&old, terms(1), ChangeOrigin::Applied),
        under_way
    );
    assert_eq!(drive.vote(MemberIndex::new(0), false), under_way);
    assert_eq!(
        drive.step(ChangeEvent::LoseRequested(DeviceIndex::new(0))),
        under_way
    );
    assert_eq!(drive.machine.fallback(), Err(ChangeRefusal::UnderWay));
    let refused = drive.step(ChangeEvent::TakenBack);
    assert_eq!(refused, Err(ChangeRefusal::UnderWay));
    assert_eq!(drive.step(ChangeEvent::Kept), Err(ChangeRefusal::UnderWay));
    assert_eq!(drive.status(), before, "nothing is otherwise");
    drive.finish();
    assert_eq!(drive.origins(), ["start", "applied", "applied"]);
}

#[test]
fn a_device_lost_meanwhile_is_evacuated_next_and_what_is_on_probation_stays() {
    let mut drive = Drive::new();
    let new = resized(&drive.running, 64);
    let begun = drive.request(&new, terms(60), ChangeOrigin::Applied);
    begun.expect("nothing else is under way");
    drive.lost(DeviceIndex::new(1));
    let work = drive.finish();
    assert!(matches!(work, ChangeWork::Apply(_)), "what was under way");
    assert_eq!(drive.probation(), Some(ProbationState::Kept));
    assert_eq!(drive.look_at, None, "nothing is watched");
    let shown = drive.status().reload.expect("the evacuation");
    assert_eq!(shown.state, ReloadState::Running);
    let work = drive.finish();
    assert!(
        matches!(work, ChangeWork::Evacuate(device) if device.get() == 1),
        "{work:?}"
    );
    let name = &drive.running.matrix.frame().devices[1];
    let said = format!("{name} lost: fell off the bus");
    assert!(drive.log[0].starts_with("reload: 1 entry changed"));
    assert_eq!(
        drive.log[1],
        format!("probation ended early ({said}): change kept")
    );
    assert!(drive.log[2].starts_with("reload: 6 entries changed"));
    let marks = drive.status().marks;
    assert!(
        marks
            .iter()
            .any(|m| m.kind == MarkKind::Device && m.text == said)
    );
    assert_eq!(drive.origins(), ["start", "applied", "evacuation"]);
}

#[test]
fn devices_that_are_lost_together_are_evacuated_one_after_another() {
    let mut drive = Drive::new();
    drive.lost(DeviceIndex::new(1));
    drive.lost(DeviceIndex::new(0));
    let first = drive.work.take().expect("the first at once");
    assert!(
        matches!(first, ChangeWork::Evacuate(device) if device.get() == 1),
        "{first:?}"
    );
    drive.begin();
    drive.end(Err(no_fallback("no room")));
    let second = drive.work.take().expect("then the other");
    assert!(
        matches!(second, ChangeWork::Evacuate(device) if device.get() == 0),
        "{second:?}"
    );
    drive.begin();
    let error = PlanError::OtherFrame;
    drive.end(Err(error.clone().into()));
    let shown = drive.status().reload.expect("the last one");
    // Nothing can be said of what ran before.
    assert_eq!(shown.state, ReloadState::Failed(error.to_string()));
    assert_eq!(
        drive.log,
        [
            "reload failed: no room".into(),
            format!("reload failed: {error}")
        ]
    );
}

#[test]
fn work_that_panics_is_a_change_that_failed() {
    let mut drive = Drive::new();
    let new = resized(&drive.running, 64);
    let begun = drive.request(&new, terms(60), ChangeOrigin::Applied);
    begun.expect("nothing else is under way");
    drive.work.take().expect("to be done");
    drive.begin();
    let panicked = ApplyError::Panicked("panicked: index out of bounds".into());
    drive.end(Err(panicked.into()));
    let seen = drive.status();
    let why = "the change panicked: index out of bounds; the old matrix serves";
    let state = seen.reload.map(|r| r.state);
    assert_eq!(state, Some(ReloadState::Failed(why.into())));
    assert_eq!((seen.probation, seen.can_undo), (None, false));
    drive.apply(&new, None);
    assert_eq!(drive.origins(), ["start", "applied"], "others go on");
}

#[test]
fn closing_waits_for_what_is_under_way_and_abandons_what_is_lost_then() {
    let mut drive = Drive::new();
    let new = resized(&drive.running, 64);
    let begun = drive.request(&new, terms(60), ChangeOrigin::Applied);
    begun.expect("nothing else is under way");
    drive.step(ChangeEvent::Closed).expect("never refused");
    assert!(!drive.machine.is_over(), "a change is under way");
    drive.lost(DeviceIndex::new(1));
    drive.finish();
    assert!(!drive.machine.is_over(), "a device was lost");
    let work = drive.finish();
    assert!(
        matches!(work, ChangeWork::Abandon(device) if device.get() == 1),
        "{work:?}"
    );
    assert!(drive.machine.is_over());
    assert_eq!(drive.look_at, None);
    let last = drive.log.last().map(String::as_str);
    assert_eq!(last, Some("reload failed: shutting down"));
    let more = resized(&new, 128);
    let refused = drive.request(&more, None, ChangeOrigin::Applied);
    assert_eq!(refused, Err(ChangeRefusal::Closed));
    drive.lost(DeviceIndex::new(0));
    assert!(!drive.machine.is_over(), "the door has to close");
    drive.finish();
    assert!(drive.machine.is_over());
}

#[test]
fn what_ran_comes_back_step_by_step_and_forth_again() {
    let mut drive = Drive::new();
    let first = drive.running.clone();
    let (second, third) = (resized(&first, 64), resized(&first, 128));
    assert_eq!(drive.machine.undo_setup(), Err(ChangeRefusal::NoUndo));
    assert_eq!(drive.machine.redo_setup(), Err(ChangeRefusal::NoRedo));
    drive.apply(&second, None);
    drive.apply(&third, None);
    for expected in [&second, &first] {
        let before = drive.machine.undo_setup().expect("something ran").clone();
        assert_eq!(before, *expected);
        drive
            .request(&before, None, ChangeOrigin::Undo)
            .expect("goes");
        drive.finish();
    }
    assert_eq!(drive.machine.undo_setup(), Err(ChangeRefusal::NoUndo));
    for expected in [&second, &third] {
        let after = drive.machine.redo_setup().expect("it was undone").clone();
        assert_eq!(after, *expected);
        drive
            .request(&after, None, ChangeOrigin::Redo)
            .expect("goes");
        drive.finish();
    }
    let origins = drive.origins();
    assert_eq!(origins[1..3], ["applied", "applied"]);
    assert_eq!(origins[3..], ["undo", "undo", "redo", "redo"]);
    let numbers: Vec<u64> = drive.status().history.iter().map(|r| r.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
    drive.apply(&first, None);
    assert_eq!(drive.machine.redo_setup(), Err(ChangeRefusal::NoRedo));
}

#[test]
fn an_undo_that_was_planned_before_another_change_is_refused() {
    let mut drive = Drive::new();
    let first = drive.running.clone();
    let (second, third) = (resized(&first, 64), resized(&first, 128));
    drive.apply(&second, None);
    let change = drive.plan(&first);
    drive.apply(&third, None);
    let refused = drive.step(ChangeEvent::Requested {
        change,
        watch: None,
        origin: ChangeOrigin::Undo,
    });
    assert_eq!(refused.map_err(|r| r.code()), Err(Code::PlanStale));
    assert_eq!(drive.machine.undo_setup(), Ok(&second));
}

#[test]
fn what_does_as_well_passes_its_probation() {
    let mut drive = Drive::new();
    drive.serve(60, 0);
    drive.apply(&resized(&drive.running, 64), terms(60));
    assert_eq!(drive.probation(), Some(ProbationState::Watching));
    let mut looks = 0;
    while drive.probation() == Some(ProbationState::Watching) {
        drive.serve(1, 0);
        looks += u32::from(drive.look());
        assert!(looks < 100, "it ends");
    }
    assert_eq!(drive.probation(), Some(ProbationState::Passed));
    assert!(drive.log[1].starts_with("probation passed"));
    assert_eq!((drive.work.is_some(), drive.look_at), (false, None));
    assert_eq!(
        drive.step(ChangeEvent::Kept),
        Err(ChangeRefusal::NoProbation)
    );
}

#[test]
fn what_is_late_while_other_programs_disturb_the_host_does_not_count() {
    let mut drive = Drive::new();
    drive.serve(60, 0);
    drive.apply(&resized(&drive.running, 64), terms(60));
    for second in 0..200 {
        // Other programs take the cores from second 10 to 30.
        let is_disturbed = (10..30).contains(&second);
        drive.serve(1, if is_disturbed { 50 } else { 0 });
        drive.look_on(is_disturbed);
    }
    assert_eq!(drive.probation(), Some(ProbationState::Passed));
    assert!(
        drive.log[1].starts_with("probation passed"),
        "{:?}",
        drive.log
    );
}

#[test]
fn a_change_stays_if_the_host_is_disturbed_for_longer_than_its_probation() {
    let mut drive = Drive::new();
    drive.serve(60, 0);
    drive.apply(&resized(&drive.running, 64), terms(60));
    for _ in 0..70 {
        drive.serve(1, 50);
        drive.look_on(true);
    }
    assert_eq!(drive.probation(), Some(ProbationState::Passed));
    assert!(
        drive.log[1].ends_with("other programs disturbed the host"),
        "{:?}",
        drive.log
    );
}

#[test]
fn what_does_worse_goes_by_itself_and_can_be_had_again() {
    let mut drive = Drive::new();
    let old = drive.running.clone();
    let new = resized(&old, 64);
    drive.serve(60, 0);
    drive.apply(&new, terms(60));
    while drive.work.is_none() {
        drive.serve(1, 50);
        drive.look();
        assert!(drive.reading.at < 120 * SECOND, "it is seen at once");
    }
    let Some(ProbationState::Failed(why)) = drive.probation() else {
        panic!("it does worse")
    };
    assert!(why.starts_with("p99"), "{why}");
    let refused = drive.vote(MemberIndex::new(0), false);
    assert_eq!(refused, Err(ChangeRefusal::UnderWay), "it is going back");
    let work = drive.finish();
    assert!(matches!(work, ChangeWork::ApplySetup(..)), "{work:?}");
    assert_eq!(drive.running, old);
    assert_eq!(
        drive.log[1],
        format!("probation failed: {why}; restoring the previous setup")
    );
    let seen = drive.status();
    assert_eq!((seen.can_undo, seen.can_redo), (false, true));
    let mark = seen.marks.last().expect("one");
    assert_eq!(mark.kind, MarkKind::Rollback);
    assert_eq!(mark.text, format!("rolled back: {why}"));
    assert_eq!(drive.machine.redo_setup(), Ok(&new));
    // The view of the probation stays until something else is changed.
    assert!(matches!(
        seen.probation.map(|p| p.state),
        Some(ProbationState::Failed(_))
    ));
}

#[test]
fn an_operator_keeps_what_is_on_probation_or_takes_it_back() {
    let mut drive = Drive::new();
    let old = drive.running.clone();
    let new = resized(&old, 64);
    drive.apply(&new, terms(60));
    drive.step(ChangeEvent::Kept).expect("it is watched");
    assert_eq!(drive.probation(), Some(ProbationState::Kept));
    assert_eq!(drive.log[1], "probation ended: change kept");
    assert_eq!(drive.machine.fallback(), Err(ChangeRefusal::NoProbation));
    drive.apply(&old, terms(60));
    let back = drive.machine.fallback().expect("it is watched").clone();
    assert_eq!(back, new);
    drive.step(ChangeEvent::TakenBack).expect("it goes");
    drive.finish();
    assert_eq!(drive.running, new);
    assert_eq!(
        drive.probation(),
        Some(ProbationState::Failed("an operator took it back".into()))
    );
    let last = drive.origins().pop();
    assert_eq!(
        last.as_deref(),
        Some("rolled back: an operator took it back")
    );
}

#[test]
fn a_stale_plan_is_planned_once_more_and_not_again() {
    let mut drive = Drive::new();
    let new = resized(&drive.running, 64);
    let begun = drive.request(&new, None, ChangeOrigin::Applied);
    begun.expect("nothing else is under way");
    drive.work.take().expect("to be done");
    drive.begin();
    drive.end(Err(ApplyError::Stale.into()));
    let shown = drive.status().reload.map(|r| r.state);
    assert_eq!(shown, Some(ReloadState::Running));
    let work = drive.work.take().expect("once more");
    assert!(matches!(&work, ChangeWork::ApplySetup(setup, _) if **setup == new));
    drive.begin();
    drive.end(Err(ApplyError::Stale.into()));
    let shown = drive.status().reload.map(|r| r.state);
    assert!(matches!(shown, Some(ReloadState::Failed(_))), "{shown:?}");
    assert!(drive.work.is_none());
}

#[test]
fn a_vote_ends_a_probation_and_moves_no_worker() {
    let mut drive = Drive::new();
    drive.apply(&resized(&drive.running, 64), terms(60));
    drive
        .vote(MemberIndex::new(0), true)
        .expect("it votes already");
    assert_eq!(drive.probation(), Some(ProbationState::Watching));
    drive
        .vote(MemberIndex::new(0), false)
        .expect("nothing is under way");
    assert_eq!(drive.probation(), Some(ProbationState::Kept));
    assert!(drive.work.is_none());
    assert!(!drive.running.combination.voting[0]);
    assert_eq!(
        drive.log[1],
        "probation ended early (mlp votes): change kept"
    );
    assert!(
        drive.log[2].ends_with("no longer votes"),
        "{}",
        drive.log[2]
    );
    assert_eq!(drive.origins(), ["start", "applied", "mlp votes"]);
    assert!(drive.status().can_undo);
}

#[test]
fn an_operators_loss_forgets_a_probation_that_is_over() {
    let mut drive = Drive::new();
    drive.apply(&resized(&drive.running, 64), terms(1));
    drive.serve(2, 0);
    drive.look();
    assert_eq!(drive.probation(), Some(ProbationState::Passed));
    drive
        .step(ChangeEvent::LoseRequested(DeviceIndex::new(1)))
        .expect("free");
    assert_eq!(drive.probation(), None);
    let work = drive.finish();
    assert!(
        matches!(work, ChangeWork::Evacuate(device) if device.get() == 1),
        "{work:?}"
    );
}

#[test]
fn looks_at_nothing_change_nothing() {
    let mut drive = Drive::new();
    let before = drive.status();
    let reading = Box::new(drive.reading.clone());
    let looked = drive.step(ChangeEvent::Looked {
        reading,
        in_flight: 3,
        is_disturbed: false,
    });
    looked.expect("never refused");
    drive.begin();
    drive
        .step(ChangeEvent::Stepped(ApplyStep::Serve))
        .expect("never refused");
    drive.end(Err(ApplyError::Stale.into()));
    assert_eq!(drive.status(), before);
}

/// An event that may happen, in any order.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Apply(u32, bool),
    Vote(bool),
    /// A model is loaded, or unloaded if it is there.
    Load(&'static str),
    /// A policy does so, and changes a batch size.
    Follow(&'static str, u32),
    Undo,
    Redo,
    Keep,
    TakeBack,
    Lose(usize),
    Lost(usize),
    Finish,
    Fail,
    Stale,
    Serve(u64),
    /// A policy counts goals and rolls its change back if it failed.
    Goals(u64),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let size = || prop::sample::select(vec![16u32, 32, 64, 128]);
    let name = || prop::sample::select(vec!["a", "b"]);
    let deed = prop_oneof![
        4 => (size(), any::<bool>()).prop_map(|(size, terms)| Deed::Apply(size, terms)),
        2 => any::<bool>().prop_map(Deed::Vote),
        2 => name().prop_map(Deed::Load),
        2 => (name(), size()).prop_map(|(name, size)| Deed::Follow(name, size)),
        2 => Just(Deed::Undo),
        2 => Just(Deed::Redo),
        1 => Just(Deed::Keep),
        1 => Just(Deed::TakeBack),
        1 => (0usize..2).prop_map(Deed::Lose),
        1 => (0usize..2).prop_map(Deed::Lost),
        8 => Just(Deed::Finish),
        1 => Just(Deed::Fail),
        1 => Just(Deed::Stale),
        4 => (0u64..2).prop_map(|late| Deed::Serve(50 * late)),
        2 => (0u64..2).prop_map(|missed| Deed::Goals(50 * missed)),
    ];
    prop::collection::vec(deed, 1..60)
}

impl Drive {
    fn fail(&mut self, error: ApplyError) {
        if self.work.take().is_some() {
            self.begin();
            self.end(Err(error.into()));
        }
    }

    /// Ends what is under way.
    fn settle(&mut self) {
        while self.work.is_some() {
            self.finish();
        }
    }

    /// Goes back or forth until there is nothing left. Returns the number of steps.
    fn go(&mut self, origin: &ChangeOrigin) -> usize {
        let to = |machine: &ChangeMachine| match origin {
            ChangeOrigin::Undo => machine.undo_setup().cloned(),
            _ => machine.redo_setup().cloned(),
        };
        let mut steps = 0;
        while let Ok(next) = to(&self.machine) {
            self.request(&next, None, origin.clone()).expect("goes");
            self.settle();
            steps += 1;
        }
        steps
    }

    /// Does it; what is refused must change nothing.
    fn attempt(&mut self, deed: Deed) {
        let before = self.status();
        let done = match deed {
            Deed::Apply(size, on_probation) => {
                let to = resized(&self.running, size);
                let terms = terms(5).filter(|_| on_probation);
                self.request(&to, terms, ChangeOrigin::Applied)
            }
            Deed::Vote(votes) => self.vote(MemberIndex::new(0), votes),
            Deed::Undo => match self.machine.undo_setup().cloned() {
                Ok(before) => self.request(&before, None, ChangeOrigin::Undo),
                Err(refusal) => Err(refusal),
            },
            Deed::Redo => match self.machine.redo_setup().cloned() {
                Ok(after) => self.request(&after, None, ChangeOrigin::Redo),
                Err(refusal) => Err(refusal),
            },
            Deed::Keep => self.step(ChangeEvent::Kept),
            Deed::TakeBack => self.step(ChangeEvent::TakenBack),
            Deed::Load(name) => {
                let to = toggled(&self.running, name);
                let load = CatalogueChange::Load(name.into());
                self.request(&to, None, ChangeOrigin::Models(load))
            }
            Deed::Follow(name, size) => {
                let to = toggled(&resized(&self.running, size), name);
                self.follow(&to, self.machine.is_judging())
            }
            Deed::Lose(device) => self.step(ChangeEvent::LoseRequested(DeviceIndex::new(device))),
            Deed::Lost(device) => {
                self.lost(DeviceIndex::new(device));
                return;
            }
            Deed::Finish => {
                if self.work.is_some() {
                    self.finish();
                }
                return;
            }
            Deed::Fail => return self.fail(ApplyError::Worker("told to refuse".into())),
            Deed::Stale => return self.fail(ApplyError::Stale),
            Deed::Goals(missed) => {
                let fallback = self.status().probation.map(|p| p.fallback);
                let verdict = self.see_goals(10, missed);
                if let (Some(JudgeVerdict::Failed(why)), Some(to)) = (verdict, fallback) {
                    let back = self.request(&to, None, ChangeOrigin::RolledBack(why));
                    back.expect("the probation was over and nothing under way");
                }
                return;
            }
            Deed::Serve(late) => {
                self.serve(1, late);
                self.look();
                return;
            }
        };
        if done.is_err() {
            assert_eq!(self.status(), before, "{deed:?} was refused");
        }
    }
}

/// Checks what must hold whatever happens.
fn check(drive: &Drive) {
    let seen = drive.status();
    let running = seen.reload.as_ref().map(|r| r.state.clone()) == Some(ReloadState::Running);
    assert_eq!(
        running,
        drive.work.is_some(),
        "work is under way, or nothing is"
    );
    let watched = seen
        .probation
        .filter(|p| p.state == ProbationState::Watching);
    // A policy counts itself, and its next change goes on with the probation.
    if watched.is_some_and(|p| p.terms.p99.is_some()) {
        assert!(!running, "what is changed is not judged");
        assert!(drive.look_at.is_some(), "somebody looks");
    }
    let last = seen.history.last().expect("something runs");
    assert_eq!(last.setup, drive.running);
    assert!(last.until.is_none());
    assert!(seen.history.len() <= 32 && seen.marks.len() <= 64);
}

/// Does the deeds one after another. An empty matrix cannot be: the first evacuation leaves one device.
fn done(drive: &mut Drive, deeds: Vec<Deed>) {
    let mut evacuated = false;
    for deed in deeds {
        if matches!(deed, Deed::Lose(_) | Deed::Lost(_)) {
            if evacuated {
                continue;
            }
            evacuated = true;
        }
        drive.attempt(deed);
        check(drive);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_happens_what_is_shown_is_what_runs(deeds in deeds()) {
        done(&mut Drive::new(), deeds);
    }

    #[test]
    fn whatever_was_changed_is_undone_step_by_step_to_the_beginning(deeds in deeds()) {
        let mut drive = Drive::new();
        done(&mut drive, deeds);
        drive.settle();
        drive.go(&ChangeOrigin::Redo);
        let last = drive.running.clone();
        let back = drive.go(&ChangeOrigin::Undo);
        prop_assert_eq!(&drive.running, &first());
        prop_assert_eq!(drive.go(&ChangeOrigin::Redo), back);
        prop_assert_eq!(&drive.running, &last);
    }

    #[test]
    fn a_new_change_leaves_nothing_to_redo(deeds in deeds(), name in prop::sample::select(vec!["a", "b"])) {
        let mut drive = Drive::new();
        done(&mut drive, deeds);
        drive.settle();
        drive.go(&ChangeOrigin::Undo);
        for origin in [ChangeOrigin::Policy, ChangeOrigin::Applied] {
            let to = toggled(&drive.running, name);
            drive.request(&to, None, origin).expect("goes");
            drive.settle();
            prop_assert!(!drive.status().can_redo);
            drive.go(&ChangeOrigin::Undo);
        }
    }
}

#[test]
fn the_decisions_of_a_policy_are_one_step_and_leave_what_was_applied_before_them() {
    let mut drive = Drive::new();
    let applied = resized(&drive.running, 64);
    drive.apply(&applied, None);
    for name in ["a", "b", "c"] {
        let to = toggled(&drive.running, name);
        drive
            .request(&to, None, ChangeOrigin::Policy)
            .expect("goes");
        drive.finish();
    }
    assert_eq!(drive.machine.undo_setup(), Ok(&applied));
    assert_eq!(drive.go(&ChangeOrigin::Undo), 2);
}

#[test]
fn models_that_were_rolled_back_are_held_off_until_they_serve() {
    let mut drive = Drive::new();
    let old = drive.running.clone();
    let load = || ChangeOrigin::Models(CatalogueChange::Load("a".into()));
    let with = toggled(&old, "a");
    drive.request(&with, terms(60), load()).expect("goes");
    drive.finish();
    assert!(drive.machine.held_off().is_empty());
    drive.step(ChangeEvent::TakenBack).expect("it goes");
    drive.finish();
    assert_eq!(drive.running, old);
    assert_eq!(drive.machine.held_off(), [copy("a", 7)]);
    drive.request(&with, None, load()).expect("goes");
    drive.finish();
    assert!(drive.machine.held_off().is_empty());
}

#[test]
fn a_change_that_was_made_in_part_is_remembered() {
    let mut drive = Drive::new();
    let old = drive.running.clone();
    let load = ChangeOrigin::Models(CatalogueChange::Load("a".into()));
    drive
        .request(&toggled(&old, "a"), None, load)
        .expect("goes");
    drive.work.take().expect("to be done");
    drive.begin();
    // Another model is served, and the one that was asked for is not.
    drive.running = toggled(&old, "b");
    drive.end(Err(DeploymentError::Unknown("a".into())));
    assert_eq!(drive.machine.undo_setup(), Ok(&old));
    let same = drive.running.clone();
    let refused = drive.request(&same, None, ChangeOrigin::Applied);
    assert_eq!(
        refused,
        Err(ChangeRefusal::Nothing),
        "it is known as running"
    );
}

#[test]
fn a_plan_for_something_that_no_longer_runs_is_refused_whoever_made_it() {
    for origin in [
        ChangeOrigin::Applied,
        ChangeOrigin::Policy,
        ChangeOrigin::Search,
    ] {
        let mut drive = Drive::new();
        let to = resized(&drive.running, 64);
        let change = drive.plan(&to);
        drive.apply(&resized(&to, 128), None);
        let refused = drive.step(ChangeEvent::Requested {
            change,
            watch: None,
            origin,
        });
        assert_eq!(refused.map_err(|r| r.code()), Err(Code::PlanStale));
    }
}

#[test]
fn a_policy_that_comes_back_to_where_it_began_leaves_no_step() {
    let mut drive = Drive::new();
    for _ in 0..2 {
        let to = toggled(&drive.running, "a");
        let begun = drive.request(&to, None, ChangeOrigin::Policy);
        begun.expect("goes");
        drive.finish();
    }
    assert_eq!(drive.running, first());
    assert_eq!(drive.machine.undo_setup(), Err(ChangeRefusal::NoUndo));
}

#[test]
fn a_policys_change_is_on_the_probation_that_operators_see() {
    let mut drive = Drive::new();
    drive.follow_load(&toggled(&first(), "a"));
    let shown = drive.status().probation.expect("on probation");
    assert_eq!(shown.state, ProbationState::Watching);
    assert_eq!(shown.fallback, first());
    assert_eq!(drive.look_at, None, "the policy counts");
    assert_eq!(drive.see_goals(5, 0), Some(JudgeVerdict::Watching));
    let shown = drive.status().probation.expect("on probation");
    assert_eq!((shown.before.answered, shown.after.answered), (5000, 2500));
    assert_eq!(drive.see_goals(10, 0), Some(JudgeVerdict::Passed(None)));
    assert_eq!(drive.probation(), Some(ProbationState::Passed));
}

#[test]
fn a_policy_rolls_back_its_failed_change_and_the_operators_step_stays() {
    let mut drive = Drive::new();
    let edited = resized(&first(), 64);
    drive.apply(&edited, None);
    drive.follow_load(&toggled(&edited, "a"));
    let verdict = drive.see_goals(10, 10);
    let Some(JudgeVerdict::Failed(why)) = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(
        why,
        "missed goals 10.0 %, 0.0 % before, at most 1.0 % allowed: 500 of 5000 missed one; \
         chance explains at most 77"
    );
    assert!(
        drive.work.is_none(),
        "the policy decides how much to roll back"
    );
    let back = drive.request(&edited, None, ChangeOrigin::RolledBack(why.clone()));
    back.expect("goes");
    drive.finish();
    assert_eq!(drive.probation(), Some(ProbationState::Failed(why.clone())));
    let origins = ["start", "applied", "follow the load"].map(str::to_owned);
    assert_eq!(drive.origins()[..3], origins);
    assert_eq!(drive.origins()[3], format!("rolled back: {why}"));
    assert_eq!(drive.machine.undo_setup(), Ok(&first()));
    assert!(drive.machine.held_off().is_empty(), "the policy holds off");
}

#[test]
fn a_policys_next_change_is_judged_together_with_the_last_one() {
    let mut drive = Drive::new();
    drive.follow_load(&toggled(&first(), "a"));
    drive.reading.at += SECOND;
    drive.follow_load(&toggled(&drive.running.clone(), "b"));
    let shown = drive.status().probation.expect("on probation");
    assert_eq!((shown.since, shown.fallback), (Duration::ZERO, first()));
    assert_eq!(drive.see_goals(3, 0), Some(JudgeVerdict::Watching));
}

#[test]
fn a_change_by_an_operator_ends_the_probation_of_a_policys_change() {
    let mut drive = Drive::new();
    drive.follow_load(&toggled(&first(), "a"));
    let edited = resized(&drive.running, 64);
    drive.apply(&edited, terms(60));
    assert_eq!(drive.see_goals(10, 50), None);
    assert_eq!(drive.probation(), Some(ProbationState::Watching));
    assert_eq!(drive.running, edited);
}

#[test]
fn an_operator_keeps_a_policys_change_or_rolls_it_back() {
    let mut drive = Drive::new();
    let followed = toggled(&first(), "a");
    for (event, now) in [
        (ChangeEvent::TakenBack, first()),
        (ChangeEvent::Kept, followed.clone()),
    ] {
        drive.follow_load(&followed);
        drive.step(event).expect("on probation");
        if drive.work.is_some() {
            drive.finish();
        }
        assert_eq!(drive.see_goals(10, 50), None);
        assert_eq!(drive.running, now);
    }
}

#[test]
fn a_policys_change_is_not_judged_together_with_one_that_was_kept() {
    let mut drive = Drive::new();
    drive.follow_load(&toggled(&first(), "a"));
    drive.step(ChangeEvent::Kept).expect("on probation");
    let next = toggled(&drive.running, "b");
    let refused = drive.follow(&next, true);
    assert_eq!(refused.map_err(|r| r.code()), Err(Code::PlanStale));
    drive.follow(&next, false).expect("a probation of its own");
    let kept = drive.step(ChangeEvent::Kept);
    assert_eq!(kept, Err(ChangeRefusal::UnderWay));
    let before = drive.running.clone();
    drive.finish();
    let shown = drive.status().probation.expect("on probation");
    assert_eq!(shown.fallback, before);
}

#[test]
fn a_policys_change_that_fails_leaves_its_last_one_on_probation() {
    let mut drive = Drive::new();
    drive.follow_load(&toggled(&first(), "a"));
    let unwatched = toggled(&drive.running, "b");
    for is_made in [false, true] {
        let begun = drive.request(&unwatched, None, ChangeOrigin::Policy);
        begun.expect("nothing else is under way");
        if is_made {
            drive.finish();
        } else {
            drive.fail(ApplyError::Worker("told to refuse".into()));
        }
        let watches = drive.probation() == Some(ProbationState::Watching);
        assert_eq!(watches, !is_made);
    }
}

#[test]
fn a_late_rollback_by_a_policy_ends_an_operators_probation() {
    let mut drive = Drive::new();
    drive.apply(&resized(&first(), 64), terms(60));
    let back = drive.request(&first(), None, ChangeOrigin::RolledBack("late".into()));
    back.expect("goes");
    assert_eq!(drive.probation(), Some(ProbationState::Kept));
}

#[test]
fn one_bad_second_ends_in_a_pass() {
    let mut evidence = goals(10, 0);
    evidence.after[3] = goals(1, 50).after[0].clone();
    let verdict = evidence.verdict();
    assert_eq!(
        verdict,
        JudgeVerdict::Passed(Some("one second was worse".into()))
    );
}

#[test]
fn a_policys_change_stays_without_a_clear_verdict_or_if_all_of_it_is_needed() {
    let unclear = GoalEvidence {
        unclear: Some("more queries came than before it".into()),
        ..goals(2, 50)
    };
    let needed = GoalEvidence {
        excuse: Some("queries need all that it loaded".into()),
        ..goals(10, 50)
    };
    for evidence in [unclear, needed] {
        let mut drive = Drive::new();
        drive.follow_load(&toggled(&first(), "a"));
        let seen = drive.step(ChangeEvent::GoalsSeen(Box::new(evidence)));
        seen.expect("never refused");
        assert_eq!(drive.probation(), Some(ProbationState::Passed));
        let verdict = drive.verdict.expect("judged");
        assert!(
            matches!(verdict, JudgeVerdict::Passed(Some(_))),
            "{verdict:?}"
        );
    }
}

#[test]
fn a_vote_for_a_setup_that_no_longer_runs_is_refused() {
    let mut drive = Drive::new();
    let mut to = drive.running.clone();
    to.combination.voting[0] = false;
    let change = drive.plan(&to);
    drive.apply(&resized(&drive.running, 64), None);
    let adjusted = drive.step(ChangeEvent::Adjusted {
        change,
        origin: ChangeOrigin::Vote("mlp does not vote".into()),
        reading: Box::new(drive.reading.clone()),
    });
    assert_eq!(adjusted.map_err(|r| r.code()), Err(Code::PlanStale));
    assert_eq!(drive.origins(), ["start", "applied"]);
}

#[test]
fn an_undo_that_changes_nothing_leads_to_the_step_before() {
    let mut drive = Drive::new();
    let old = drive.running.clone();
    drive.apply(&resized(&old, 64), None);
    let with = toggled(&drive.running, "a");
    drive.apply(&with, None);
    let undone = drive.machine.undo_setup().expect("a step").clone();
    drive
        .request(&undone, None, ChangeOrigin::Undo)
        .expect("goes");
    drive.work.take().expect("to be done");
    drive.begin();
    // Its models failed their warm-up: the same ones serve.
    drive.end(Ok(with));
    assert_eq!(drive.machine.undo_setup(), Ok(&old));
}

#[test]
fn what_the_engine_of_other_models_lost_is_not_evacuated() {
    let mut drive = Drive::new();
    let load = ChangeOrigin::Models(CatalogueChange::Load("a".into()));
    let to = toggled(&drive.running, "a");
    drive.request(&to, None, load).expect("goes");
    drive.lost(DeviceIndex::new(1));
    drive.finish();
    assert!(drive.work.is_none(), "the next engine has all devices");
}

#[test]
fn nothing_is_taken_back_once_all_is_closed() {
    let mut drive = Drive::new();
    drive.apply(&resized(&drive.running, 64), terms(60));
    drive.step(ChangeEvent::Closed).expect("never refused");
    let refused = drive.step(ChangeEvent::TakenBack);
    assert_eq!(refused, Err(ChangeRefusal::Closed));
}
