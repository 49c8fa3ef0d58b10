//! Servers and their viewers: names, who may do what, and viewers that misbehave.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use divisi_engine::deployment::{CatalogueChange, Handover};
use divisi_engine::load::LoadPattern;
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::remote::{BoundSocket, PlaceError, RemoteSession, ServerName, Viewer};
use divisi_session::wire::{Format, encode, hello};
use divisi_session::{Command, Pace, Play, SearchOrder, Session, Setup, Slowdown, Target, Terms};

use crate::common::until;
use crate::folder::Folder;
use crate::transport::{Puppet, name, serve, viewer};

/// The contents of a message that a server sends.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// The answer to a request: the refusal's words, if it is one.
    Answer(u64, Result<(), String>),
    Refused(String),
    News,
}

/// A viewer that says what it likes, byte by byte.
pub struct Raw(pub UnixStream);

impl Raw {
    pub fn join(path: &Path, read_only: bool) -> Self {
        let mut stream = UnixStream::connect(path).expect("connects");
        stream.write_all(&hello(Format::Connection)).expect("said");
        let mut theirs = [0; 10];
        stream.read_exact(&mut theirs).expect("greeted");
        let mut raw = Raw(stream);
        raw.say(&encode(&("raw", read_only)).expect("encoded"))
            .expect("said");
        raw
    }

    fn say(&mut self, body: &[u8]) -> std::io::Result<()> {
        let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(body);
        self.0.write_all(&bytes)
    }

    /// Asks by `number` for what `ask` encodes.
    pub fn ask(&mut self, number: u64, ask: &[u8]) -> std::io::Result<()> {
        let mut body = encode(&number).expect("encoded");
        body.extend_from_slice(ask);
        self.say(&body)
    }

    /// Returns the server's next message, or `None` once it hung up.
    pub fn hear(&mut self) -> Option<Said> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).ok()?;
        let mut body = vec![0; u32::from_le_bytes(length) as usize];
        self.0.read_exact(&mut body).ok()?;
        let body = lz4_flex::block::decompress_size_prepended(&body).expect("a packed message");
        let (kind, rest) = body.split_first().expect("a message");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(match kind {
            3 => {
                let (number, rest) = number(rest);
                let refused = rest[0] == 1;
                let outcome = if refused {
                    Err(text(&rest[1..]))
                } else {
                    Ok(())
                };
                Said::Answer(number, outcome)
            }
            4 => Said::Refused(text(rest)),
            _ => Said::News,
        })
    }

    /// The answer to the request of that number.
    pub fn answer(&mut self, number: u64) -> Result<(), String> {
        loop {
            match self.hear().expect("an answer before the end") {
                Said::Answer(n, outcome) if n == number => return outcome,
                _ => {}
            }
        }
    }
}

/// The number that `bytes` begin with, seven bits a byte.
fn number(bytes: &[u8]) -> (u64, &[u8]) {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return (number, &bytes[place + 1..]);
        }
    }
    panic!("a number without end")
}

/// A command as it is asked for.
pub fn as_ask(command: &[u8]) -> Vec<u8> {
    [&[0], command].concat()
}

#[test]
fn a_name_is_a_name_and_no_path() {
    for good in ["digits", "a", "A-b_c.9", &"n".repeat(64)] {
        let name: ServerName = good.parse().expect(good);
        assert_eq!(name.as_str(), good);
    }
    let long = "n".repeat(65);
    for bad in [
        "",
        ".",
        "..",
        ".hidden",
        "./file",
        "/tmp/file",
        "a/b",
        "a b",
        "ä",
        "a\0",
        "a\n",
        "-",
        "-x",
        "--read-only",
        &long,
    ] {
        let error = bad.parse::<ServerName>().expect_err(bad).to_string();
        assert!(
            error.contains("server name `") && error.contains("expected 1 to 64 letters"),
            "{error}"
        );
    }
    for (text, like) in [
        ("digits", "digits"),
        ("", "_"),
        (".a/ü b", "_a---b"),
        ("-x", "_x"),
        ("_x-", "_x-"),
        ("ä", "_"),
        (&long, &long[..64]),
    ] {
        let name = ServerName::like(text);
        assert_eq!(name.as_str(), like);
        assert_eq!(name.as_str().parse::<ServerName>().expect("a name"), name);
    }
}

#[test]
fn only_a_dead_servers_socket_is_replaced() {
    let folder = Folder::new();
    let path = folder.join("digits.sock");
    type Put = fn(&Path);
    let lies_there: [(&str, Put); 4] = [
        ("a file", |path| fs::write(path, "mine").expect("written")),
        ("a folder", |path| fs::create_dir(path).expect("made")),
        ("a link to a file", |path| {
            let file = path.with_extension("txt");
            fs::write(&file, "mine").expect("written");
            std::os::unix::fs::symlink(&file, path).expect("linked");
        }),
        ("a link to a socket", |path| {
            let socket = path.with_extension("other");
            drop(UnixListener::bind(&socket).expect("bound"));
            std::os::unix::fs::symlink(&socket, path).expect("linked");
        }),
    ];
    for (what, put) in lies_there {
        put(&path);
        let before = fs::symlink_metadata(&path).expect("there");
        let error = BoundSocket::open_at(&path, &name()).expect_err(what);
        assert!(matches!(error, PlaceError::Occupied(_)), "{what}: {error}");
        let after = fs::symlink_metadata(&path).expect(what);
        assert_eq!(
            after.modified().expect("a time"),
            before.modified().expect("a time")
        );
        assert!(fs::read_to_string(&path).is_ok_and(|text| text == "mine") || what != "a file");
        fs::remove_dir(&path)
            .or_else(|_| fs::remove_file(&path))
            .expect("removed");
    }
    drop(UnixListener::bind(&path).expect("bound"));
    assert!(
        BoundSocket::open_at(&path, &name()).is_ok(),
        "a dead socket"
    );
}

/// One of every command.
fn commands(setup: &Setup, arrivals: &Path) -> Vec<Command> {
    let terms = Terms {
        lasts: Duration::from_secs(1),
        p99: None,
        failures: Some(0.1),
        accuracy: None,
    };
    let target = Target {
        latency: Duration::from_millis(1),
        share: 0.5,
    };
    vec![
        Command::Apply(Box::new(setup.clone()), Some(terms)),
        Command::EndProbation(true),
        Command::Undo,
        Command::Redo,
        Command::SetTarget(Some(target)),
        Command::SetVote(MemberIndex::new(0), false),
        Command::SetMaxInf(DeviceIndex::new(0), None),
        Command::LoseDevice(DeviceIndex::new(0)),
        Command::RegainDevice(DeviceIndex::new(0)),
        Command::SlowDevice(DeviceIndex::new(0), Slowdown::nearest(2.0)),
        Command::StartLoad(LoadPattern::replay(arrivals.to_owned(), 1.0)),
        Command::StopLoad,
        Command::StartSearch(SearchOrder::quick()),
        Command::PauseSearch,
        Command::ResumeSearch,
        Command::CancelSearch,
        Command::ClearLatency,
        Command::StartRecording("a.divisi".into()),
        Command::StopRecording,
        Command::Play(Play::Speed(Pace::nearest(2.0))),
        Command::TakeEditing(true),
        Command::KeepServing,
        Command::TakeEditing(false),
        Command::LoadModel("a".into()),
        Command::UnloadModel {
            name: "a".into(),
            dependents: true,
        },
        Command::SetMix(Some("a=1".parse().expect("a mix"))),
        Command::Listen(true),
        Command::PlanModels(CatalogueChange::Refresh),
        Command::ApplyModels {
            number: 1,
            handover: Handover::OldFirst,
            terms: None,
        },
        Command::DropModelsPlan(1),
        Command::SetScalingPolicy("divisi".into()),
        Command::ComparePolicies,
    ]
}

/// Where a command stands above. A new one does not compile until it is there.
fn place(command: &Command) -> usize {
    match command {
        Command::Apply(..) => 0,
        Command::EndProbation(_) => 1,
        Command::Undo => 2,
        Command::Redo => 3,
        Command::SetTarget(_) => 4,
        Command::SetVote(..) => 5,
        Command::SetMaxInf(..) => 6,
        Command::LoseDevice(_) => 7,
        Command::RegainDevice(_) => 8,
        Command::SlowDevice(..) => 9,
        Command::StartLoad(_) => 10,
        Command::StopLoad => 11,
        Command::StartSearch(_) => 12,
        Command::PauseSearch => 13,
        Command::ResumeSearch => 14,
        Command::CancelSearch => 15,
        Command::ClearLatency => 16,
        Command::StartRecording(_) => 17,
        Command::StopRecording => 18,
        Command::Play(_) => 19,
        Command::TakeEditing(true) => 20,
        Command::KeepServing => 21,
        Command::TakeEditing(false) => 22,
        Command::LoadModel(_) => 23,
        Command::UnloadModel { .. } => 24,
        Command::SetMix(_) => 25,
        Command::Listen(_) => 26,
        Command::PlanModels(_) => 27,
        Command::ApplyModels { .. } => 28,
        Command::DropModelsPlan(_) => 29,
        Command::SetScalingPolicy(_) => 30,
        Command::ComparePolicies => 31,
    }
}

#[test]
fn only_who_edits_changes_anything_and_everybody_is_told_the_truth() {
    let folder = Folder::new();
    let puppet = Puppet::new();
    let (hub, path) = serve(Box::new(puppet.clone()), &folder);
    let arrivals = folder.join("arrivals.csv");
    fs::write(&arrivals, "0\n1\n2\n").expect("written");
    let watcher = Viewer {
        name: "guest".into(),
        read_only: true,
    };
    let mut ann = RemoteSession::join(&path, viewer("ann")).expect("joins");
    let mut bob = RemoteSession::join(&path, viewer("bob")).expect("joins");
    let mut guest = RemoteSession::join(&path, watcher).expect("joins");
    let setup = ann.snapshot().setup();
    for (at, command) in commands(&setup, &arrivals).into_iter().enumerate() {
        assert_eq!(place(&command), at);
        let lets_go = command == Command::TakeEditing(false);
        let editing = |s: &mut RemoteSession, edits: bool, editor: Option<&str>| {
            until(s, |s| {
                s.audience.you_edit == edits && s.audience.editor.as_deref() == editor
            });
        };
        for session in [&mut ann, &mut bob, &mut guest] {
            editing(session, false, None);
        }
        let refused = guest.command(command.clone());
        match lets_go {
            true => assert_eq!(refused, Ok(())),
            false => assert!(
                refused.is_err_and(|r| r.text().contains("read-only")),
                "{command:?}"
            ),
        }
        let asked = puppet.sent.lock().expect("lock").len();
        ann.command(command.clone()).expect("nobody edits");
        let kept = matches!(command, Command::TakeEditing(_));
        let taken = puppet.sent.lock().expect("lock").len() - asked;
        assert_eq!(taken, usize::from(!kept), "{command:?}");
        if !lets_go {
            editing(&mut ann, true, Some("ann"));
            editing(&mut bob, false, Some("ann"));
            editing(&mut guest, false, Some("ann"));
            let refused = bob.command(command.clone()).expect_err("ann edits");
            assert!(
                refused.text().contains("ann is editing"),
                "{command:?}: {refused}"
            );
            assert_eq!(puppet.sent.lock().expect("lock").len() - asked, taken);
        }
        for session in [&mut ann, &mut bob, &mut guest] {
            let preview = session.preview(&setup).expect_err("a puppet's");
            assert!(
                preview.text().contains("puppet"),
                "whoever watches may look: {preview}"
            );
        }
        ann.command(Command::TakeEditing(false)).expect("lets go");
    }
    hub.stopper()();
    hub.join();
}

#[test]
fn who_only_watches_cannot_stop_the_server() {
    const STOP: [u8; 1] = [2];
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(Puppet::new()), &folder);
    let mut guest = Raw::join(&path, true);
    guest.ask(1, &STOP).expect("asked");
    let refused = guest.answer(1).expect_err("it may only read");
    assert!(refused.contains("read-only"), "{refused}");
    let mut ann = RemoteSession::join(&path, viewer("ann")).expect("it still serves");
    until(&mut ann, |s| s.audience.viewers == 2);
    let mut bob = Raw::join(&path, false);
    bob.ask(1, &STOP).expect("asked");
    assert_eq!(bob.answer(1), Ok(()));
    hub.join();
}

#[test]
fn files_are_meant_as_the_viewer_sees_them() {
    let folder = Folder::new();
    let puppet = Puppet::new();
    let (hub, path) = serve(Box::new(puppet.clone()), &folder);
    let mut ann = RemoteSession::join(&path, viewer("ann")).expect("joins");
    let replay = |file: &str| Command::StartLoad(LoadPattern::replay(file.into(), 2.0));
    let refused = ann.command(replay("no/such.csv")).expect_err("no file");
    let here = std::env::current_dir().expect("a folder");
    let found = here.join("no/such.csv").display().to_string();
    assert!(refused.text().contains(&found), "{refused}");
    let arrivals = folder.join("arrivals.csv");
    fs::write(&arrivals, "once upon\n").expect("written");
    let refused = ann.command(replay(&arrivals.display().to_string()));
    assert!(
        refused.is_err_and(|r| r.text().contains("arrivals.csv:1")),
        "no times"
    );
    fs::write(&arrivals, "0\n1\n").expect("written");
    let roundabout = folder.join("./arrivals.csv").display().to_string();
    ann.command(replay(&roundabout)).expect("its own file");
    ann.command(Command::StartRecording("a.divisi".into()))
        .expect("its folder");
    let sent = puppet.sent.lock().expect("lock").clone();
    let expected = [
        replay(&roundabout),
        Command::StartRecording(here.join("a.divisi")),
    ];
    assert_eq!(sent, expected);
    ann.command(Command::TakeEditing(false)).expect("lets go");
    // Whoever does not resolve its paths is told.
    let mut raw = Raw::join(&path, false);
    for (number, command) in [
        (1, replay("arrivals.csv")),
        (2, Command::StartRecording("a".into())),
    ] {
        let bytes = encode(&command).expect("encoded");
        raw.ask(number, &as_ask(&bytes)).expect("asked");
        let refused = raw.answer(number).expect_err("relative");
        assert!(refused.contains("expected an absolute path"), "{refused}");
    }
    assert_eq!(puppet.sent.lock().expect("lock").len(), expected.len());
    hub.stopper()();
    hub.join();
}

#[test]
fn who_asks_and_never_reads_is_cut_off_with_a_word() {
    let folder = Folder::new();
    let puppet = Puppet::new();
    let (hub, path) = serve(Box::new(puppet.clone()), &folder);
    let mut ann = RemoteSession::join(&path, viewer("ann")).expect("joins");
    let mut deaf = Raw::join(&path, true);
    until(&mut ann, |s| s.audience.viewers == 2);
    let let_go = as_ask(&encode(&Command::TakeEditing(false)).expect("encoded"));
    // Far more answers than any socket's buffer takes.
    let asked = (0..1_000_000)
        .take_while(|n| deaf.ask(*n, &let_go).is_ok())
        .count();
    assert!(asked < 1_000_000, "it is cut off");
    let (mut answers, mut last) = (0, None);
    while let Some(said) = deaf.hear() {
        answers += u64::from(matches!(said, Said::Answer(..)));
        last = Some(said);
    }
    assert!(answers < asked as u64, "{answers} of {asked} were kept");
    let word = |said: &Said| matches!(said, Said::Refused(why) if why.contains("unread answers"));
    assert!(last.as_ref().is_some_and(word), "{last:?}");
    until(&mut ann, |s| s.audience.viewers == 1);
    puppet.step(500);
    until(&mut ann, |s| s.counters.answered == 500);
    ann.command(Command::StopLoad).expect("answered");
    hub.stopper()();
    hub.join();
}

#[test]
fn connections_that_say_nothing_keep_nobody_out() {
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(Puppet::new()), &folder);
    let silent: Vec<UnixStream> = (0..100)
        .map(|_| UnixStream::connect(&path).expect("connects"))
        .collect();
    let mut ann = RemoteSession::join(&path, viewer("ann")).expect("joins at once");
    until(&mut ann, |s| s.audience.viewers == 1);
    // The oldest made room for others.
    let mut oldest = &silent[0];
    let _ = oldest.read_to_end(&mut Vec::new());
    hub.stopper()();
    hub.join();
}

#[test]
fn as_many_viewers_join_as_are_served_and_the_next_is_told() {
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(Puppet::new()), &folder);
    let join = || RemoteSession::join(&path, viewer("one of many"));
    let mut all: Vec<RemoteSession> = (0..32).map(|_| join().expect("a seat")).collect();
    let refused = join().err().expect("full").to_string();
    assert!(refused.contains("32 viewers"), "{refused}");
    all.pop();
    until(&mut all[0], |s| s.audience.viewers == 31);
    crate::wait::wait_for(join);
    hub.stopper()();
    hub.join();
}

#[test]
fn a_change_of_an_entry_still_travels() {
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(crate::transport::live()), &folder);
    let mut ann = RemoteSession::join(&path, viewer("ann")).expect("joins");
    let shown = ann.snapshot();
    let cell = shown.matrix.cells().next().expect("a cell");
    let matrix = shown
        .matrix
        .with_entry(cell, BatchSize::new(64))
        .expect("valid");
    let setup = shown.setup().with_matrix(matrix.clone());
    ann.command(Command::Apply(Box::new(setup), None))
        .expect("taken");
    until(&mut ann, |s| s.matrix == matrix);
    hub.stopper()();
    hub.join();
}
