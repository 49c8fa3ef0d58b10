//! The state of a session, over sockets and through files: as it was, whatever bytes come.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use divisi_model::allocation::Cell;
use divisi_model::codes::Code;
use divisi_model::ensemble::BatchSize;
use divisi_model::trace::{Span, SpanKind, StepPlace};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::record::{Recorder, RecordingReader};
use divisi_session::remote::{
    BoundSocket, Hub, PlaceError, RemoteError, RemoteSession, ServerName, Viewer, stop,
};
use divisi_session::replay::ReplaySession;
use divisi_session::wire::{Format, SpanBatch, checked, decode, encode, pack, unpack};
use divisi_session::{
    Command, EditPreview, Figure, FigureHistory, FigureRecord, FigureSpread, Health, LiveSession,
    LoadPattern, LogEntry, LogLevel, Pace, Play, Refusal, Session, Setup, Snapshot, WhatIf,
    WhatIfReply,
};
use proptest::prelude::*;

use crate::common::{digits, fakes, start, until};
use crate::folder::Folder;
use crate::wait::wait_for;

pub fn live() -> LiveSession {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    LiveSession::new(engine, fakes(&ensemble), None)
}

pub fn template() -> Snapshot {
    live().snapshot()
}

/// A session that shows what it is told, in a time that is told too.
#[derive(Clone)]
pub struct Puppet {
    pub shown: Arc<Mutex<Snapshot>>,
    spans: Arc<Mutex<Vec<Span>>>,
    history: Arc<Mutex<FigureHistory>>,
    pub sent: Arc<Mutex<Vec<Command>>>,
}

impl Puppet {
    pub fn new() -> Self {
        Puppet {
            shown: Arc::new(Mutex::new(template())),
            spans: Arc::default(),
            history: Arc::default(),
            sent: Arc::default(),
        }
    }

    /// Another state at `millis`, with a span and a line of log of its own.
    pub fn step(&self, millis: u64) {
        let mut shown = self.shown.lock().expect("lock");
        shown.now = Duration::from_millis(millis);
        shown.counters.answered = millis;
        if let Some(number) = (millis / 1000).checked_sub(1) {
            let second = FigureRecord::new(number, number + 1);
            let second = second.with(Figure::Answered, FigureSpread::single(9.0, 1.0));
            self.history.lock().expect("lock").push(second.clone());
            shown.second = Some(second);
        }
        let at = shown.now;
        shown.log.push(LogEntry {
            at,
            level: LogLevel::Info,
            text: format!("at {millis}"),
        });
        if shown.log.len() > 20 {
            shown.log.remove(0);
        }
        self.spans.lock().expect("lock").push(span(millis));
    }
}

fn span(millis: u64) -> Span {
    Span {
        device: DeviceIndex::new(1),
        member: MemberIndex::new(2),
        batch_size: 8,
        lane: 0,
        kind: SpanKind::Compute,
        start: Duration::from_millis(millis.saturating_sub(5)),
        end: Duration::from_millis(millis),
        samples: 7,
        batch: Some(millis),
        request: millis,
        requests: 3,
        of_step: None,
    }
}

impl Session for Puppet {
    fn snapshot(&mut self) -> Snapshot {
        self.shown.lock().expect("lock").clone()
    }

    fn now(&mut self) -> Duration {
        self.shown.lock().expect("lock").now
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        into.append(&mut self.spans.lock().expect("lock"));
        0
    }

    fn history(&mut self) -> Result<FigureHistory, Refusal> {
        Ok(self.history.lock().expect("lock").clone())
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        self.sent.lock().expect("lock").push(command);
        Ok(())
    }

    fn preview(&mut self, _: &Setup) -> Result<EditPreview, Refusal> {
        Err(Refusal::new(Code::DoesNotFit, "a puppet has no preview"))
    }

    fn what_if(&mut self, _: &WhatIf) -> Result<WhatIfReply, Refusal> {
        Ok(WhatIfReply::Computing)
    }
}

/// Waits until the file of a recording is larger than `bytes`, and returns its size.
fn writes_more_than(bytes: u64, session: &mut impl Session) -> u64 {
    wait_for(|| {
        let view = session.snapshot().recording.expect("recording");
        (view.bytes > bytes).then_some(view.bytes).ok_or(view)
    })
}

/// Records `seconds` of a puppet, ten states a second; returns what was shown.
pub fn record(path: &Path, seconds: u64) -> Vec<Snapshot> {
    let puppet = Puppet::new();
    puppet.step(0);
    let mut session = Recorder::new(puppet.clone());
    let started = session.command(Command::StartRecording(path.to_owned()));
    started.expect("starts");
    let mut seen = Vec::new();
    let mut written = 0;
    for tenth in 1..=seconds * 10 {
        puppet.step(tenth * 100);
        session.drain_spans(&mut Vec::new());
        // A block has five seconds. A writer without a core for a while would lose states.
        if tenth % 60 == 0 {
            written = writes_more_than(written, &mut session);
        }
        let mut shown = session.snapshot();
        let view = shown.recording.take().expect("recording");
        assert_eq!((view.failed, view.dropped), (None, 0));
        seen.push(shown);
    }
    session.command(Command::StopRecording).expect("stops");
    seen
}

/// A recording that is played by a clock of the test's own.
pub fn play(path: &Path) -> (ReplaySession, Arc<AtomicU64>) {
    let clock = Arc::new(AtomicU64::new(0));
    let hand = Arc::clone(&clock);
    let reader = RecordingReader::open(path).expect("a recording");
    let now = move || Duration::from_millis(hand.load(Ordering::Relaxed));
    let session = ReplaySession::with_clock(reader, Box::new(now));
    (session.expect("plays"), clock)
}

pub fn as_recorded(mut shown: Snapshot) -> Snapshot {
    shown.playback = None;
    shown.audience = Default::default();
    shown
}

#[test]
fn a_recording_plays_what_was_shown_when_it_was_shown() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    let seen = record(&path, 20);
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "its owner alone may read it");
    let (mut session, clock) = play(&path);
    let mut spans = Vec::new();
    for shown in &seen {
        clock.store(shown.now.as_millis() as u64, Ordering::Relaxed);
        session.drain_spans(&mut spans);
        assert_eq!(as_recorded(session.snapshot()), *shown);
    }
    assert_eq!(spans.len(), 201);
    assert_eq!(spans[7], span(700));
    let playback = session.snapshot().playback.expect("played");
    assert!(playback.paused, "held at its end");
}

#[test]
fn pause_speed_and_seek_are_a_players() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    let seen = record(&path, 20);
    let (mut session, clock) = play(&path);
    let tick = |ms: u64| clock.fetch_add(ms, Ordering::Relaxed);
    let at = |session: &mut ReplaySession| session.snapshot().counters.answered;
    session
        .command(Command::Play(Play::Speed(Pace::nearest(4.0))))
        .expect("4×");
    tick(1000);
    assert_eq!(at(&mut session), 4000);
    session
        .command(Command::Play(Play::Pause(true)))
        .expect("holds");
    tick(1000);
    assert_eq!(at(&mut session), 4000);
    let forward = Command::Play(Play::Seek(Duration::from_secs(15)));
    session.command(forward).expect("there");
    assert_eq!(as_recorded(session.snapshot()), seen[149]);
    let mut spans = Vec::new();
    session.drain_spans(&mut spans);
    assert_eq!(spans.len(), 151, "all up to there, once");
    let epoch = session.snapshot().playback.expect("played").epoch;
    let back = Command::Play(Play::Seek(Duration::from_secs(8)));
    session.command(back).expect("there");
    assert_eq!(as_recorded(session.snapshot()), seen[79]);
    spans.clear();
    session.drain_spans(&mut spans);
    assert_eq!(spans.len(), 81, "those before are given again");
    let playback = session.snapshot().playback.expect("played");
    assert_eq!((playback.epoch, playback.paused), (epoch + 1, true));
    let refused = session.command(Command::StopLoad).expect_err("a recording");
    assert!(refused.text().contains("this is a recording"));
}

#[test]
fn nothing_is_overwritten_and_a_second_recording_takes_another_name() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    fs::write(&path, "mine").expect("written");
    record(&path, 1);
    assert_eq!(fs::read_to_string(&path).expect("there"), "mine");
    assert!(RecordingReader::open(&folder.join("a-2.divisi")).is_ok());
    let mut session = Recorder::new(Puppet::new());
    let nowhere = Command::StartRecording(folder.join("no/where.divisi"));
    assert!(session.command(nowhere).is_err());
    assert!(
        session.command(Command::StopRecording).is_err(),
        "none runs"
    );
}

#[test]
fn a_disk_that_is_full_ends_the_recording_and_nothing_else() {
    let puppet = Puppet::new();
    let mut session = Recorder::new(puppet.clone());
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    session
        .command(Command::StartRecording(path))
        .expect("starts");
    // A state that cannot be written down stands for a disk that takes no more.
    {
        use std::os::unix::ffi::OsStringExt;
        let mut shown = puppet.shown.lock().expect("lock");
        let name = std::ffi::OsString::from_vec(vec![0xff]);
        shown.playback = Some(divisi_session::Playback {
            path: name.into(),
            position: Duration::ZERO,
            length: Duration::ZERO,
            speed: 1.0,
            paused: false,
            epoch: 0,
        });
    }
    let mut millis = 0;
    let failed = wait_for(|| {
        millis += 100;
        puppet.step(millis);
        let recording = session.snapshot().recording.expect("shown");
        recording.failed.clone().ok_or(recording)
    });
    assert!(failed.contains("cannot be encoded"), "{failed}");
    assert!(
        session.command(Command::StopLoad).is_ok(),
        "all else goes on"
    );
}

#[test]
fn a_file_cut_off_is_readable_up_to_its_last_whole_block() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    record(&path, 20);
    let whole = fs::read(&path).expect("bytes");
    assert!(RecordingReader::open(&path).expect("whole").is_whole());
    for cut in (0..whole.len()).step_by(whole.len() / 37) {
        fs::write(&path, &whole[..cut]).expect("written");
        let Ok(reader) = RecordingReader::open(&path) else {
            continue;
        };
        assert!(!reader.is_whole() || cut == 0);
        let (mut session, _) = play(&path);
        session.to_end();
        let shown = session.snapshot();
        assert!(
            shown
                .log
                .first()
                .is_some_and(|l| l.text.contains("its end is missing"))
        );
    }
    let half = &whole[..whole.len() * 3 / 4];
    fs::write(&path, half).expect("written");
    assert!(
        RecordingReader::open(&path).is_ok(),
        "three quarters have whole blocks"
    );
}

#[test]
fn another_version_and_other_files_are_named() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    record(&path, 1);
    let mut bytes = fs::read(&path).expect("bytes");
    let known = Format::Recording.version();
    for (version, said) in [(known + 1, " newer"), (known - 1, "n older")] {
        bytes[8..10].copy_from_slice(&version.to_le_bytes());
        fs::write(&path, &bytes).expect("written");
        let error = RecordingReader::open(&path).expect_err("another version");
        let said = format!(
            "recorded by a{said} Divisi: found version {version}, expected version {known}"
        );
        assert_eq!(error.to_string(), said);
    }
    fs::write(&path, "sample,class\n1,2\n").expect("written");
    let error = RecordingReader::open(&path).expect_err("CSV").to_string();
    assert_eq!(error, "not a Divisi recording: the header is wrong");
    for text in ["", "DIVIS"] {
        fs::write(&path, text).expect("written");
        assert!(RecordingReader::is_one(&path), "it is called so");
        let error = RecordingReader::open(&path)
            .expect_err("too short")
            .to_string();
        let found = text.len();
        let said = format!("expected a Divisi recording, found {found} bytes");
        assert_eq!(error, said);
    }
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let folder = Folder::new();
    let pipe = folder.join("a.pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("starts").success());
    for (path, found) in [
        (pipe, "a pipe"),
        (folder.join(""), "a folder"),
        ("/dev/zero".into(), "a device"),
    ] {
        assert!(!RecordingReader::is_one(&path), "{}", path.display());
        let error = RecordingReader::open(&path).expect_err(found).to_string();
        assert_eq!(error, format!("expected a file, found {found}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_recordings_are_played_as_far_as_they_can_be(
        places in prop::collection::vec((0.0..1.0f64, any::<u8>()), 1..6),
    ) {
        static WHOLE: std::sync::OnceLock<(Vec<u8>, Vec<Snapshot>)> = std::sync::OnceLock::new();
        let folder = Folder::new();
        let path = folder.join("a.divisi");
        let whole = WHOLE.get_or_init(|| {
            let mut seen = record(&path, 12);
            let mut first = seen[0].clone();
            (first.now, first.counters.answered) = (Duration::ZERO, 0);
            first.log.truncate(first.log.len() - 1);
            seen.insert(0, first);
            (fs::read(&path).expect("bytes"), seen)
        });
        let mut bytes = whole.0.clone();
        for (place, byte) in places {
            let at = (place * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        fs::write(&path, &bytes).expect("written");
        let harmed = bytes != whole.0;
        let reader = RecordingReader::open(&path);
        prop_assert!(harmed || reader.is_ok(), "nothing was harmed");
        let clock = Box::new(|| Duration::ZERO);
        let played = reader.and_then(|reader| ReplaySession::with_clock(reader, clock));
        if let Ok(mut session) = played {
            for at in [Duration::MAX, Duration::ZERO, Duration::from_secs(7)] {
                session.command(Command::Play(Play::Seek(at))).expect("there");
                let mut shown = as_recorded(session.snapshot());
                let remarks = shown.log.iter().take_while(|l| l.text.contains("recording")).count();
                prop_assert!(harmed || remarks == 0, "{:?}", shown.log);
                shown.log.drain(..remarks);
                // Whatever was harmed, what is shown was shown then.
                shown.now = Duration::from_millis(shown.counters.answered);
                prop_assert!(whole.1.contains(&shown), "at {at:?}");
            }
            let mut spans = Vec::new();
            session.drain_spans(&mut spans);
            for found in spans {
                prop_assert_eq!(found, span(found.request));
            }
        }
    }

    #[test]
    fn a_packed_state_comes_back_as_it_was(
        lines in prop::collection::vec((0..3usize, 0..5u8), 0..30),
        answered in any::<u64>(),
        load in 0.0..1.0f64,
        entry in 0..12usize,
    ) {
        static TEMPLATE: std::sync::OnceLock<Snapshot> = std::sync::OnceLock::new();
        let mut shown = TEMPLATE.get_or_init(template).clone();
        for (what, text) in lines {
            let line = |text: u8| LogEntry {
                at: Duration::from_secs(u64::from(text)),
                level: LogLevel::Info,
                text: format!("line {text}"),
            };
            match what {
                0 => shown.log.push(line(text)),
                1 if !shown.log.is_empty() => drop(shown.log.remove(0)),
                _ => shown.log.truncate(usize::from(text)),
            }
            let names = ["f32", "int8", "auto", "bf16", "int8/tf32"];
            let precision = names[usize::from(text)].parse();
            shown.members[0].precision = precision.expect("a precision");
            shown.counters.answered = answered;
            shown.entries[entry].load = load;
            shown.now += Duration::from_millis(1);
            let bytes = pack(&shown).expect("written");
            let read: Snapshot = unpack(&bytes, 1 << 20).expect("read");
            prop_assert_eq!(&checked(read).expect("whole"), &shown);
        }
    }

    #[test]
    fn spans_come_back_as_they_were(
        numbers in prop::collection::vec((any::<u64>(), 0..1u64 << 40, any::<u32>()), 0..50),
    ) {
        let spans: Vec<Span> = numbers.iter().map(|&(request, start, some)| Span {
            device: DeviceIndex::new(some as usize % 16),
            lane: some as usize,
            start: Duration::from_nanos(start),
            end: Duration::from_nanos(start + u64::from(some)),
            batch: (some % 3 > 0).then_some(request),
            request,
            requests: some,
            of_step: (some % 2 > 0).then_some(StepPlace { entry: some as u16, step: 7 }),
            ..span(5)
        }).collect();
        let bytes = encode(&SpanBatch::pack(&spans, 9)).expect("written");
        let batch: SpanBatch = decode(&bytes).expect("read");
        let mut back = Vec::new();
        batch.unpack(&mut back).expect("whole");
        prop_assert_eq!((back, batch.lost), (spans, 9));
    }
}

pub fn name() -> ServerName {
    "digits".parse().expect("a name")
}

pub fn viewer(name: &str) -> Viewer {
    Viewer {
        name: name.into(),
        read_only: false,
    }
}

pub fn serve(session: Box<dyn Session>, folder: &Folder) -> (Hub, PathBuf) {
    let path = folder.join("digits.sock");
    let door = BoundSocket::open_at(&path, &name()).expect("a door");
    let hub = Hub::start(session, door, Box::new(|_| {})).expect("serves");
    (hub, path)
}

#[test]
fn a_server_without_news_counts_as_gone_until_it_sends_some() {
    let (folder, puppet) = (Folder::new(), Puppet::new());
    let (_hub, path) = serve(Box::new(puppet.clone()), &folder);
    let mut session = RemoteSession::join(&path, viewer("ann@pts/1")).expect("joins");
    // The server waits for this lock.
    let held = puppet.shown.lock().expect("lock");
    let gone = until(&mut session, |s| matches!(s.health, Health::Closed(_)));
    assert!(gone.audience.lost);
    drop(held);
    puppet.step(60_000);
    until(&mut session, |s| !s.audience.lost);
}

#[test]
fn a_viewer_sees_steers_and_leaves_an_engine() {
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(live()), &folder);
    let mode = fs::metadata(&path).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut session = RemoteSession::join(&path, viewer("ann@pts/1")).expect("joins");
    let pattern = LoadPattern::closed(2, 4);
    session
        .command(Command::StartLoad(pattern.clone()))
        .expect("taken");
    let shown = until(&mut session, |s| s.counters.answered > 50);
    assert_eq!(shown.load.pattern, Some(pattern));
    let mut spans = Vec::new();
    while spans.is_empty() {
        session.drain_spans(&mut spans);
    }
    let cell = Cell {
        device: DeviceIndex::new(0),
        member: MemberIndex::new(2),
    };
    let matrix = shown
        .matrix
        .with_entry(cell, BatchSize::new(64))
        .expect("valid");
    let preview = session.preview(&shown.setup().with_matrix(matrix));
    assert!(preview.is_ok(), "{preview:?}");
    drop(session);
    let mut again = RemoteSession::join(&path, viewer("ann@pts/1")).expect("joins");
    let before = again.snapshot().counters.answered;
    until(&mut again, |s| s.counters.answered > before);
    stop(&path).expect("stops");
    hub.join();
    let after = until(&mut again, |s| matches!(s.health, Health::Closed(_)));
    let Health::Closed(why) = after.health else {
        panic!("the server is gone");
    };
    assert!(
        why.starts_with("the connection to the server was lost"),
        "{why}"
    );
    assert!(again.command(Command::StopLoad).is_err(), "at once");
    assert!(!path.exists(), "its socket is gone");
}

#[test]
fn many_watch_and_one_edits() {
    let folder = Folder::new();
    let puppet = Puppet::new();
    let (hub, path) = serve(Box::new(puppet.clone()), &folder);
    let mut ann = RemoteSession::join(&path, viewer("ann@pts/1")).expect("joins");
    let mut bob = RemoteSession::join(&path, viewer("bob@pts/2")).expect("joins");
    let guest = Viewer {
        name: "guest\u{1b}[2J".into(),
        read_only: true,
    };
    let mut guest = RemoteSession::join(&path, guest).expect("joins");
    until(&mut ann, |s| {
        s.audience.viewers == 3 && !s.audience.you_edit
    });
    ann.command(Command::StopLoad)
        .expect("nobody edits: she does");
    let seen = until(&mut bob, |s| s.audience.editor.is_some());
    assert_eq!(seen.audience.editor.as_deref(), Some("ann@pts/1"));
    assert!(!seen.audience.you_edit && seen.audience.attached);
    until(&mut ann, |s| s.audience.you_edit);
    let refused = bob.command(Command::StopLoad).expect_err("ann edits");
    assert!(refused.text().contains("ann@pts/1"), "{refused}");
    let refused = guest.command(Command::TakeEditing(true)).expect_err("no");
    assert!(refused.text().contains("read-only"));
    ann.command(Command::TakeEditing(false)).expect("lets go");
    bob.command(Command::TakeEditing(true)).expect("free");
    assert!(ann.command(Command::StopLoad).is_err(), "bob edits");
    drop(bob);
    until(&mut ann, |s| {
        s.audience.editor.is_none() && s.audience.viewers == 2
    });
    ann.command(Command::StopLoad)
        .expect("his leaving freed it");
    assert_eq!(
        puppet.sent.lock().expect("lock").len(),
        2,
        "none that was refused"
    );
    hub.stopper()();
    hub.join();
}

#[test]
fn a_viewer_that_reads_nothing_costs_the_others_nothing() {
    let folder = Folder::new();
    let puppet = Puppet::new();
    let (hub, path) = serve(Box::new(puppet.clone()), &folder);
    // It says who it is and never reads.
    let mut deaf = UnixStream::connect(&path).expect("connects");
    let hello = divisi_session::wire::hello(divisi_session::wire::Format::Connection);
    deaf.write_all(&hello).expect("said");
    let join = encode(&("deaf", true)).expect("encoded");
    let length = (join.len() as u32).to_le_bytes();
    deaf.write_all(&length).expect("said");
    deaf.write_all(&join).expect("said");
    let mut ann = RemoteSession::join(&path, viewer("ann@pts/1")).expect("joins");
    until(&mut ann, |s| s.audience.viewers == 2);
    // More than its socket and its outbox take.
    let mut got = 0;
    let mut sent = 0;
    let batch: Vec<Span> = (0..50_000).map(|i| span(i * 7919 % 1_000_000)).collect();
    while sent < 20 {
        puppet.spans.lock().expect("lock").extend(&batch);
        sent += 1;
        let mut spans = Vec::new();
        while got < sent * batch.len() {
            ann.drain_spans(&mut spans);
            got += spans.len();
            spans.clear();
        }
    }
    assert_eq!(ann.drain_spans(&mut Vec::new()), 0, "she lost none");
    puppet.step(77_000);
    until(&mut ann, |s| s.counters.answered == 77_000);
    drop(deaf);
    until(&mut ann, |s| s.audience.viewers == 1);
    hub.stopper()();
    hub.join();
}

#[test]
fn nonsense_on_a_socket_is_dropped() {
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(Puppet::new()), &folder);
    let hello = divisi_session::wire::hello(divisi_session::wire::Format::Connection);
    let long = [&hello[..], &[0xff; 64]].concat();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], &long] {
        let mut stream = UnixStream::connect(&path).expect("connects");
        let _ = stream.write_all(bytes);
        // It may be reset, since not all of it was read.
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let mut ann = RemoteSession::join(&path, viewer("ann@pts/1")).expect("joins");
    until(&mut ann, |s| s.audience.viewers == 1);
    hub.stopper()();
    hub.join();
}

#[test]
fn a_name_is_served_once_and_dead_sockets_are_taken_over() {
    let folder = Folder::new();
    let path = folder.join("digits.sock");
    let door = BoundSocket::open_at(&path, &name()).expect("a door");
    let second = BoundSocket::open_at(&path, &name()).expect_err("taken");
    assert!(matches!(second, PlaceError::Taken(name) if name == "digits"));
    drop(door);
    // As a server that was killed leaves it.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("bound"));
    assert!(path.exists());
    let error = RemoteSession::join(&path, viewer("ann"))
        .err()
        .expect("dead");
    assert!(matches!(error, RemoteError::Io(_)));
    drop(BoundSocket::open_at(&path, &name()).expect("taken over"));
    let left = fs::read_dir(folder.join("")).expect("a folder").count();
    assert_eq!(left, 0, "neither a socket nor its lock stays");
}
