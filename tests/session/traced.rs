//! Events of `tracing`: each thing that happens is told once, while no lock is held.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use divisi_engine::serving::LogLevel;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_runtime::lock::{LockRank, Ranked};
use divisi_session::{Command, LiveSession, LoadPattern, Session};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::common::{digits, fakes, start, until};
use crate::fates;

/// A lock that may not be taken under any of the program's.
struct Lowest;

impl LockRank for Lowest {
    const ORDER: u8 = 0;
    const NAME: &'static str = "a subscriber";
}

/// An event as it was told: its level, its target and its text.
type TracedLine = (LogLevel, String, String);

/// Keeps what this thread tells `tracing`.
#[derive(Clone)]
struct TestSubscriber {
    lock: Arc<Ranked<Lowest, ()>>,
    told: Arc<Mutex<Vec<TracedLine>>>,
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for TestSubscriber {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("divisi::")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        // It panics where this thread holds a lock.
        drop(self.lock.lock());
        let mut text = Message(String::new());
        event.record(&mut text);
        let level = match *event.metadata().level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            _ => LogLevel::Info,
        };
        let target = event.metadata().target().to_owned();
        self.told.lock().unwrap().push((level, target, text.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Returns what this thread tells while `work` is done.
fn told(work: impl FnOnce()) -> Vec<TracedLine> {
    let subscriber = TestSubscriber {
        lock: Arc::new(Ranked::new(())),
        told: Arc::default(),
    };
    with_default(subscriber.clone(), work);
    subscriber.told.lock().unwrap().clone()
}

#[test]
fn each_line_of_a_session_is_told_once_and_under_no_lock() {
    let mut log = Vec::new();
    let told = told(|| {
        let ensemble = digits();
        let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
        let mut session = LiveSession::new(engine, fakes(&ensemble), None);
        session.warn("a word to the operator");
        for command in [
            Command::SetVote(MemberIndex::new(0), false),
            Command::StartLoad(LoadPattern::closed(2, 4)),
            Command::StopLoad,
        ] {
            session.command(command).expect("taken");
        }
        log = session.snapshot().log;
    });
    let lines: Vec<_> = log.iter().map(|l| (l.level, l.text.as_str())).collect();
    let heard: Vec<_> = told
        .iter()
        .map(|(l, _, text)| (*l, text.as_str()))
        .collect();
    assert_eq!(heard, lines);
    let targets: Vec<_> = told.iter().map(|(_, target, _)| target.as_str()).collect();
    let expected = ["session", "session", "changes", "load", "load"];
    assert_eq!(targets, expected.map(|name| format!("divisi::{name}")));
}

#[test]
fn a_device_that_comes_back_is_told_once_and_under_no_lock() {
    let told = told(|| {
        let (_engine, mut session) = fates::session(2, true);
        session
            .command(Command::LoseDevice(DeviceIndex::new(1)))
            .expect("simulated");
        until(&mut session, fates::reload_over);
        session
            .command(Command::RegainDevice(DeviceIndex::new(1)))
            .expect("it is lost");
    });
    let devices: Vec<_> = told.iter().filter(|t| t.1 == "divisi::devices").collect();
    // Its loss is told by the thread that evacuated it.
    let [(level, _, text)] = devices[..] else {
        panic!("{told:?}")
    };
    assert_eq!(*level, LogLevel::Info);
    assert!(text.ends_with("is back"), "{text}");
}
