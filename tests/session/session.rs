//! A live session: what a console asks for happens, and shows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use divisi_engine::search::Bounds;
use divisi_engine::serving::{Engine, EngineOptions, Request};
use divisi_model::allocation::{Cell, Footprints, Matrix};
use divisi_model::codes::Code;
use divisi_model::ensemble::{BatchSize, Measure, PolicyKind};
use divisi_runtime::device::{DeviceIndex, Devices, Host, MemberIndex};
use divisi_session::wire::{decode, encode};
use divisi_session::{
    CallerFigures, CallerView, ClientDoor, Command, DoorAddress, DoorProtocol, DoorView,
    EditPreview, ErrorKind, LiveSession, LoadPattern, LogLevel, ModelCallers, Refusal, ReloadState,
    SearchKind, SearchOrder, SearchState, Session, SessionRefusal, Setup, Snapshot,
};

use crate::common::{apply, digits, everywhere, fakes, start, until};

fn preview(session: &mut LiveSession, matrix: &Matrix) -> Result<EditPreview, Refusal> {
    let setup = session.snapshot().setup().with_matrix(matrix.clone());
    session.preview(&setup)
}

fn session() -> LiveSession {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    LiveSession::new(engine, fakes(&ensemble), None)
}

fn reloaded(session: &mut LiveSession) -> Snapshot {
    until(session, |s| {
        s.reload
            .as_ref()
            .is_some_and(|r| r.state == ReloadState::Done)
    })
}

#[test]
fn an_edit_is_applied_undone_and_redone() {
    let mut session = session();
    let old = session.snapshot().matrix;
    let cell = Cell {
        device: DeviceIndex::new(0),
        member: MemberIndex::new(2),
    };
    let new = old.with_entry(cell, BatchSize::new(64)).expect("valid");
    let preview = preview(&mut session, &new).expect("it fits");
    assert_eq!(preview.difference.changed().count(), 1);
    assert!(preview.memory[0].1 > preview.memory[0].0);
    apply(&mut session, &new).expect("starts");
    let after = reloaded(&mut session);
    assert_eq!(
        (after.matrix, after.can_undo, after.can_redo),
        (new.clone(), true, false)
    );
    assert!(apply(&mut session, &new).is_err(), "it runs already");
    session.command(Command::Undo).expect("starts");
    let after = reloaded(&mut session);
    assert_eq!(
        (after.matrix, after.can_undo, after.can_redo),
        (old, false, true)
    );
    assert!(
        session.command(Command::Undo).is_err(),
        "nothing ran before"
    );
    session.command(Command::Redo).expect("starts");
    assert_eq!(reloaded(&mut session).matrix, new);
}

#[test]
fn load_is_generated_counted_and_stopped() {
    let mut session = session();
    let pattern = LoadPattern::closed(2, 4);
    session
        .command(Command::StartLoad(pattern))
        .expect("starts");
    let seen = until(&mut session, |s| s.counters.answered > 50);
    assert!(seen.quality.is_some_and(|q| q.answered > 0
        && q.figures[0].measure == Measure::Accuracy
        && (0.0..=1.0).contains(&q.figures[0].value)));
    let mut spans = Vec::new();
    session.drain_spans(&mut spans);
    assert!(!spans.is_empty() && spans.iter().all(|s| s.start <= s.end));
    let policy: PolicyKind = "elastic".parse().expect("a policy");
    let setup = Setup {
        policy,
        ..session.snapshot().setup()
    };
    let command = Command::Apply(Box::new(setup), None);
    session.command(command).expect("any time");
    until(&mut session, |s| s.policy == policy);
    session.command(Command::StopLoad).expect("stops");
    assert_eq!(session.snapshot().load.pattern, None);
    let huge = LoadPattern::closed(1, 65_536);
    assert!(
        session.command(Command::StartLoad(huge)).is_err(),
        "larger than the pool"
    );
}

#[test]
fn a_search_is_started_paused_cancelled_and_its_best_applied() {
    let mut session = session();
    let order = SearchOrder {
        algorithm: SearchKind::Greedy,
        bounds: Bounds {
            seed: 1,
            max_iter: 3,
            max_neighs: 5,
        },
        ..SearchOrder::default()
    };
    assert!(session.command(Command::PauseSearch).is_err(), "none runs");
    session
        .command(Command::StartSearch(order))
        .expect("starts");
    assert!(
        session.command(Command::StartSearch(order)).is_err(),
        "one runs"
    );
    until(&mut session, |s| {
        s.search
            .as_ref()
            .is_some_and(|s| s.progress.evaluations > 0)
    });
    session.command(Command::PauseSearch).expect("pauses");
    until(&mut session, |s| {
        s.search
            .as_ref()
            .is_some_and(|s| s.state == SearchState::Paused)
    });
    session.command(Command::ResumeSearch).expect("goes on");
    session.command(Command::CancelSearch).expect("stops");
    let seen = until(&mut session, |s| {
        s.search
            .as_ref()
            .is_some_and(|s| s.state == SearchState::Cancelled)
    });
    let best = seen.search.and_then(|s| s.progress.best);
    let mut best = best.expect("there is a best");
    if best == seen.matrix {
        // The search found nothing better than what runs before it was cancelled.
        let cell = Cell {
            device: DeviceIndex::new(0),
            member: MemberIndex::new(0),
        };
        best = best.with_entry(cell, BatchSize::new(128)).expect("valid");
    }
    apply(&mut session, &best).expect("starts");
    assert_eq!(reloaded(&mut session).matrix, best);
}

#[test]
fn where_both_matrices_do_not_fit_old_workers_drain_first_and_nothing_is_lost() {
    let ensemble = digits();
    let host = |memory_bytes| Host {
        cores: vec![0, 1],
        memory_bytes,
    };
    let large = Devices::default_of(&host(1 << 30));
    let old = everywhere(&ensemble, &large);
    // The densely connected network at its largest on both devices.
    let size = BatchSize::new(128);
    let mut new = old.clone();
    for device in DeviceIndex::all(2) {
        new = new
            .with_entry(
                Cell {
                    device,
                    member: MemberIndex::new(5),
                },
                size,
            )
            .expect("valid");
    }
    let ledger = Footprints::plan(&ensemble, &large)
        .book(&new, &large)
        .expect("it fits");
    let devices = Devices::default_of(&host(ledger.booked(DeviceIndex::new(0)) + (1 << 20)));
    let options = EngineOptions::default();
    let engine = Engine::start(
        Arc::clone(&ensemble),
        devices,
        &old,
        fakes(&ensemble),
        options,
    );
    let engine = Arc::new(engine.expect("it fits"));
    assert!(
        !engine
            .plan(&engine.setup().with_matrix(new.clone()))
            .expect("it fits alone")
            .reload()
            .early
            .is_empty()
    );
    let mut session = LiveSession::new(Arc::clone(&engine), fakes(&ensemble), None);
    let load = LoadPattern::closed(4, 8);
    session.command(Command::StartLoad(load)).expect("starts");
    let preview = preview(&mut session, &new).expect("it fits alone");
    assert_eq!(preview.difference.changed().count(), 2);
    apply(&mut session, &new).expect("starts");
    assert_eq!(reloaded(&mut session).matrix, new);
    let answered = session.snapshot().counters.answered;
    let later = until(&mut session, |s| s.counters.answered > answered + 20);
    assert_eq!((later.counters.failed, later.counters.cancelled), (0, 0));
}

/// Somebody who asks, and is refused now and then.
fn callers() -> ModelCallers {
    let alice = CallerView {
        name: "alice".into(),
        has_key: true,
        figures: CallerFigures {
            per_second: 2.0,
            calls: 120,
            failed: 3,
        },
    };
    ModelCallers {
        callers: vec![alice],
        others: None,
    }
}

/// A door that is open or not, and who asks.
#[derive(Default)]
struct PaintedDoor(AtomicBool);

impl ClientDoor for PaintedDoor {
    fn view(&self) -> DoorView {
        let http = DoorAddress {
            protocol: DoorProtocol::Http,
            address: ([0, 0, 0, 0], 8000).into(),
            tls: false,
            keys: true,
        };
        DoorView {
            addresses: Some(http)
                .filter(|_| self.0.load(Ordering::SeqCst))
                .into_iter()
                .collect(),
            ..DoorView::default()
        }
    }

    fn callers_of_models(&self) -> BTreeMap<(String, String), ModelCallers> {
        let of = |name: &str| ((name.to_owned(), "1".to_owned()), callers());
        [of("digits"), of("unloaded long ago")].into()
    }

    fn open(&self) -> Result<(), Refusal> {
        match self.0.swap(true, Ordering::SeqCst) {
            true => Err(SessionRefusal::DoorOpen.into()),
            false => Ok(()),
        }
    }

    fn close(&self) -> Result<(), Refusal> {
        match self.0.swap(false, Ordering::SeqCst) {
            true => Ok(()),
            false => Err(SessionRefusal::DoorNotOpen.into()),
        }
    }
}

#[test]
fn a_door_is_shown_opened_and_closed_and_what_an_address_lacks_is_logged() {
    let mut session = session().with_door(Arc::new(PaintedDoor::default()));
    let is_open = |session: &mut LiveSession| session.snapshot().door.is_some_and(|d| d.is_open());
    assert!(!is_open(&mut session));
    session.command(Command::Listen(true)).expect("it opens");
    assert!(is_open(&mut session));
    let refused = session
        .command(Command::Listen(true))
        .expect_err("it is open");
    assert_eq!(refused.code(), Code::DoorOpen);
    let log = session.snapshot().log;
    let warned = log.iter().find(|line| line.level == LogLevel::Warn);
    let warned = warned.map(|line| line.text.clone()).unwrap_or_default();
    assert!(
        warned.contains("0.0.0.0:8000") && warned.ends_with("no TLS"),
        "{warned}"
    );
    session.command(Command::Listen(false)).expect("it closes");
    assert!(!is_open(&mut session));
}

#[test]
fn who_asks_a_model_is_shown_at_the_model_here_and_in_other_consoles() {
    let mut alone = session();
    assert_eq!(alone.snapshot().models[0].asked, None);
    let mut session = session().with_door(Arc::new(PaintedDoor::default()));
    let shown = session.snapshot();
    assert_eq!(shown.models.len(), 1);
    assert_eq!(shown.models[0].asked, Some(callers()));
    let other: Snapshot = decode(&encode(&shown).expect("bytes")).expect("a state");
    assert_eq!(other.models, shown.models);
}

#[test]
fn a_refused_request_counts_once_for_its_model_and_for_all_with_its_reason() {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    let mut session = LiveSession::new(Arc::clone(&engine), fakes(&ensemble), None);
    assert!(engine.predict(Request::new(&[])).is_err());
    let shown = session.snapshot();
    let figures = shown.models[0].figures;
    assert_eq!((figures.refused, figures.failed), (1, 0));
    assert_eq!(shown.counters.refused, 1);
    let last = &shown.errors.last[0];
    assert_eq!(last.key.reason, ErrorKind::BadInput);
    assert_eq!(last.sender, "this process");
    assert_eq!(last.message, "a request needs at least one sample");
}

#[test]
fn a_line_of_the_log_is_one_line_whatever_it_tells_of() {
    let mut session = session();
    session.warn("model `x\n12.0 s: all is well\u{1b}[2J` is not served");
    let log = session.snapshot().log;
    let last = log.last().map(|line| line.text.clone());
    let escaped = r"model `x\n12.0 s: all is well\u{1b}[2J` is not served";
    assert_eq!(last.as_deref(), Some(escaped));
}

#[test]
fn a_session_without_a_door_has_none_to_open() {
    let mut session = session();
    let refused = session.command(Command::Listen(true)).expect_err("no door");
    assert_eq!(refused.code(), Code::NoDoor);
    assert_eq!(session.snapshot().door, None);
}
