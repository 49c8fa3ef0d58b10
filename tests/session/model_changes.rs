//! Changes of the models from a console: planned, applied, refused with the reason, undone, on probation;
//! history, marks and throughput go on from one engine to the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use divisi_engine::changes::Changes;
use divisi_engine::deployment::{CatalogueChange, Handover};
use divisi_model::codes::Code;
use divisi_session::{
    Command, LiveSession, MarkKind, ModelChangeState, ProbationState, ReloadState, Session,
    Snapshot, Terms,
};

use crate::bookcase::{Bookcase, ROOM, ask, entry, network, start, tight};
use crate::common::until;

fn case() -> Arc<Bookcase> {
    Bookcase::of([
        entry("a", 1, &network("a", 8, 3)),
        entry("b", 1, &network("b", 8, 5)),
    ])
}

fn session(changes: &Arc<Changes>) -> LiveSession {
    LiveSession::of_changes(Arc::clone(changes), None)
}

fn state(shown: &Snapshot) -> Option<&ModelChangeState> {
    shown.model_change.as_ref().map(|change| &change.state)
}

fn is_done(shown: &Snapshot) -> bool {
    matches!(state(shown), Some(ModelChangeState::Done(_)))
}

/// Returns whether the last change is over.
pub fn is_settled(shown: &Snapshot) -> bool {
    let reload = shown.reload.as_ref();
    reload.is_some_and(|reload| reload.state == ReloadState::Done)
}

fn planned(session: &mut LiveSession, change: CatalogueChange) -> (u64, Snapshot) {
    session
        .command(Command::PlanModels(change))
        .expect("is begun");
    let shown = until(session, |shown| {
        matches!(state(shown), Some(ModelChangeState::Planned(_)))
    });
    let number = shown.model_change.as_ref().expect("is planned").number;
    (number, shown)
}

pub fn applied(
    session: &mut LiveSession,
    change: CatalogueChange,
    terms: Option<Terms>,
) -> Snapshot {
    let (number, _) = planned(session, change);
    let apply = Command::ApplyModels {
        number,
        handover: Handover::Beside,
        terms,
    };
    session.command(apply).expect("is begun");
    until(session, is_done)
}

pub fn names(shown: &Snapshot) -> &[String] {
    &shown.matrix.frame().members
}

#[test]
fn a_change_is_planned_then_applied_and_a_plan_is_dropped() {
    let changes = start(&case(), &["a"], ROOM);
    let mut session = session(&changes);
    let (number, shown) = planned(&mut session, CatalogueChange::Load("b".into()));
    assert_eq!(
        (shown.generation, names(&shown)),
        (0, &["a".to_owned()][..])
    );
    session
        .command(Command::DropModelsPlan(number))
        .expect("is dropped");
    let apply = Command::ApplyModels {
        number,
        handover: Handover::Beside,
        terms: None,
    };
    let refused = session.command(apply).expect_err("is dropped");
    assert_eq!(refused.code(), Code::PlanStale);
    let shown = applied(&mut session, CatalogueChange::Load("b".into()), None);
    assert_eq!(
        (shown.generation, names(&shown)),
        (1, &["a".to_owned(), "b".into()][..])
    );
}

#[test]
fn a_change_that_is_refused_is_told_with_its_reason() {
    let case = case();
    let second = entry("a", 2, &network("a", 9, 4));
    let memory = tight(&case, &second);
    case.put(entry("a", 1, &network("a", 8, 3)));
    let changes = start(&case, &["a"], memory);
    case.put(second);
    let mut session = session(&changes);
    session
        .command(Command::LoadModel("a".into()))
        .expect("is begun");
    let shown = until(&mut session, |shown| {
        matches!(state(shown), Some(ModelChangeState::Refused(_)))
    });
    let change = shown.model_change.as_ref().expect("is told");
    let refusal = change.refusal().expect("is refused");
    assert_eq!(
        (change.change.model(), refusal.code()),
        (Some("a"), Code::DoesNotFit)
    );
    assert!(
        refusal.text().contains("let the old engine end first"),
        "{refusal}"
    );
    assert!(
        shown
            .log
            .iter()
            .any(|line| line.text.contains(refusal.text()))
    );
    assert_eq!(shown.generation, 0, "what ran runs");

    let (number, shown) = planned(&mut session, CatalogueChange::Load("a".into()));
    let Some(ModelChangeState::Planned(preview)) = state(&shown) else {
        panic!("it is planned");
    };
    assert!(
        preview.not_beside.is_some() && preview.memory[0].during.is_none(),
        "{preview:?}"
    );
    let old_first = Command::ApplyModels {
        number,
        handover: Handover::OldFirst,
        terms: None,
    };
    session.command(old_first).expect("is begun");
    let shown = until(&mut session, is_done);
    let Some(ModelChangeState::Done(done)) = state(&shown) else {
        panic!("it is done");
    };
    let gap = done.gap.expect("the gap is measured");
    assert!(gap > Duration::ZERO && gap <= done.took, "{done:?}");
    assert_eq!(ask(&changes, "a"), 4);
}

#[test]
fn history_marks_and_time_go_on_and_undo_brings_the_models_back() {
    let changes = start(&case(), &["a"], ROOM);
    let mut session = session(&changes);
    let before = session.snapshot();
    assert!(!before.can_undo);
    let shown = applied(&mut session, CatalogueChange::Load("b".into()), None);
    let entries = shown
        .history
        .iter()
        .map(|entry| (entry.number, entry.why.as_str()));
    assert_eq!(entries.collect::<Vec<_>>(), [(1, "start"), (2, "load `b`")]);
    assert_eq!(shown.history[0].setup.matrix, before.matrix);
    assert!(shown.history[0].until.is_some() && shown.history[1].until.is_none());
    let mark = shown.marks.last().expect("a mark");
    assert_eq!(
        (mark.kind, mark.text.as_str()),
        (MarkKind::Models, "load `b`")
    );
    assert!(shown.can_undo && !shown.can_redo && shown.now > before.now);

    session.command(Command::Undo).expect("is begun");
    let shown = until(&mut session, |shown| {
        shown.generation == 2 && is_settled(shown)
    });
    assert_eq!(
        (names(&shown), &shown.matrix),
        (&["a".to_owned()][..], &before.matrix)
    );
    assert!(shown.can_redo && !shown.can_undo);
    session.command(Command::Redo).expect("is begun");
    let shown = until(&mut session, |shown| {
        shown.generation == 3 && is_settled(shown)
    });
    assert_eq!(names(&shown).len(), 2);
    assert_eq!(shown.history.len(), 4);
}

/// Asks a model all the time, from several threads, until it is dropped.
struct Askers {
    over: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Askers {
    fn of(changes: &Arc<Changes>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let asker = |_| {
            let (changes, over) = (Arc::clone(changes), Arc::clone(&over));
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    assert!([3, 4].contains(&ask(&changes, "a")));
                }
            })
        };
        let threads = (0..2).map(asker).collect();
        Askers { over, threads }
    }
}

impl Drop for Askers {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("nothing was lost");
        }
    }
}

fn terms(p99: f64) -> Terms {
    Terms {
        lasts: Duration::from_secs(3600),
        p99: Some(p99),
        failures: None,
        accuracy: None,
    }
}

#[test]
fn requests_are_counted_on_from_one_engine_to_the_next() {
    let changes = start(&case(), &["a"], ROOM);
    let mut session = session(&changes);
    for expected in [3, 6] {
        for _ in 0..3 {
            ask(&changes, "a");
        }
        until(&mut session, |shown| shown.counters.answered == expected);
        if expected == 3 {
            applied(&mut session, CatalogueChange::Load("b".into()), None);
        }
    }
    session.command(Command::Undo).expect("is begun");
    until(&mut session, |shown| {
        shown.generation == 2 && is_settled(shown)
    });
    ask(&changes, "a");
    let shown = until(&mut session, |shown| shown.counters.answered >= 7);
    assert_eq!((shown.generation, shown.counters.answered), (2, 7));
}

#[test]
fn requests_that_wait_for_the_next_engine_are_not_refused() {
    let changes = start(&case(), &["a"], ROOM);
    let mut session = session(&changes);
    let askers = Askers::of(&changes);
    until(&mut session, |shown| shown.counters.answered > 100);
    let (number, _) = planned(&mut session, CatalogueChange::Load("b".into()));
    let old_first = Command::ApplyModels {
        number,
        handover: Handover::OldFirst,
        terms: None,
    };
    session.command(old_first).expect("is begun");
    let shown = until(&mut session, |shown| {
        assert_eq!(shown.counters.refused, 0);
        is_done(shown) && shown.generation == 1
    });
    let answered = shown.counters.answered;
    let shown = until(&mut session, |shown| {
        shown.counters.answered > answered + 100
    });
    drop(askers);
    assert_eq!((shown.counters.refused, shown.counters.failed), (0, 0));
}

#[test]
fn models_that_do_worse_on_probation_are_taken_back() {
    let case = case();
    let changes = start(&case, &["a", "b"], ROOM);
    let mut session = session(&changes);
    let _askers = Askers::of(&changes);
    until(&mut session, |shown| shown.counters.answered > 10_000);
    // So much to compute that no hiccup of the small one takes as long.
    case.put(entry("a", 2, &network("a", 2_000_000, 4)));
    let load = CatalogueChange::Load("a".into());
    let before = session.snapshot().setup();
    applied(&mut session, load, Some(terms(1.0)));
    let shown = until(&mut session, |shown| {
        shown.generation == 2 && is_settled(shown)
    });
    let probation = shown.probation.as_ref().expect("is told");
    assert!(
        matches!(probation.state, ProbationState::Failed(_)),
        "{probation:?}"
    );
    assert_eq!(probation.fallback, before);
    let versions = shown
        .models
        .iter()
        .map(|model| model.version.map(|v| v.get()));
    assert_eq!(versions.collect::<Vec<_>>(), [Some(1), Some(1)]);
    let last = shown.history.last().expect("an entry");
    assert!(last.why.starts_with("rolled back: p99"), "{}", last.why);
    changes.refresh().expect("is read");
    assert_eq!(
        session.snapshot().generation,
        2,
        "what was taken back stays away"
    );
}

#[test]
fn versions_that_were_taken_back_stay_away_until_they_are_asked_for_by_name() {
    let case = case();
    let changes = start(&case, &["a"], ROOM);
    let mut session = session(&changes);
    for (version, answers) in [(2, 4), (3, 6)] {
        case.put(entry("a", version, &network("a", 8, answers)));
        applied(&mut session, CatalogueChange::Load("a".into()), None);
    }
    for generation in [3, 4] {
        session.command(Command::Undo).expect("is begun");
        until(&mut session, |shown| {
            shown.generation == generation && is_settled(shown)
        });
    }
    // The first poll loads `b`, after which nothing can be redone.
    for _ in 0..2 {
        changes.refresh().expect("is read");
        assert_eq!((ask(&changes, "a"), ask(&changes, "b")), (3, 5));
    }
    changes.load("a").expect("is loaded");
    assert_eq!(ask(&changes, "a"), 6);
}

#[test]
fn an_operator_ends_a_probation_of_models_either_way() {
    for stays in [true, false] {
        let case = case();
        let changes = start(&case, &["a"], ROOM);
        let mut session = session(&changes);
        case.put(entry("a", 2, &network("a", 8, 4)));
        let load = CatalogueChange::Load("a".into());
        let shown = applied(&mut session, load, Some(terms(100.0)));
        let watched = shown.probation.as_ref().map(|probation| &probation.state);
        assert_eq!(watched, Some(&ProbationState::Watching));
        session.command(Command::EndProbation(stays)).expect("ends");
        let generation = if stays { 1 } else { 2 };
        until(&mut session, |shown| {
            shown.generation == generation && is_settled(shown)
        });
        let answers = if stays { 4 } else { 3 };
        assert_eq!(ask(&changes, "a"), answers);
    }
}
