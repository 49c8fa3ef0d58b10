//! Engines that go on without a console: handed over, attached to, stopped; and what
//! is recorded, played and reported.

use std::fs;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Child, Command, Output, Stdio};

use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal, kill_process};

use crate::folder::Folder;
use crate::terminal::{Terminal, ended};
use crate::wait::wait_until;

/// A folder of a test's own, for sockets and logs.
pub struct Home(Folder);

impl Home {
    pub fn new() -> Self {
        Home(Folder::new())
    }

    fn variables(&self) -> [(&'static str, &std::path::Path); 3] {
        let here = self.0.path();
        [
            ("XDG_RUNTIME_DIR", here),
            ("XDG_STATE_HOME", here),
            ("XDG_CACHE_HOME", here),
        ]
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_divisi"));
        command.args(arguments).envs(self.variables());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("starts")
    }

    pub fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn terminal(&self, arguments: &[&str]) -> Terminal {
        Terminal::with(120, 40, arguments, &self.variables())
    }

    /// A server that listens.
    fn serve(&self, arguments: &[&str]) -> Child {
        let mut all = vec![
            "serve",
            "--http",
            "off",
            "--grpc",
            "off",
            "--metrics",
            "off",
        ];
        all.extend(arguments);
        let mut command = self.command(&all);
        let mut server = command.stderr(Stdio::piped()).spawn().expect("starts");
        let errors = server.stderr.take().expect("piped");
        let mut lines = BufReader::new(errors).lines();
        let said = lines.find(|l| l.as_ref().is_ok_and(|l| l.contains("divisi stop")));
        said.expect("it listens").expect("text");
        // Whatever it says later has somewhere to go.
        std::thread::spawn(move || lines.count());
        server
    }

    /// The folder.
    pub fn folder(&self) -> &std::path::Path {
        self.0.path()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

#[test]
fn a_console_hands_its_engine_over_and_others_join_it() {
    let home = Home::new();
    let mut console = home.terminal(&["--load", "poisson:50"]);
    console.until("serving");
    console.send("q");
    console.shows("b background");
    console.send("b");
    console.ends_clean();
    assert_eq!(home.text(&["servers"]).trim(), "digits");
    let mut viewer = home.terminal(&["attach", "digits"]);
    viewer.until("serving");
    viewer.send("q");
    viewer.ends_clean();
    assert_eq!(home.text(&["servers"]).trim(), "digits", "it goes on");
    let stopped = home.text(&["stop", "digits"]);
    assert!(stopped.contains("stopped"), "{stopped}");
    assert!(home.text(&["servers"]).contains("no server is running"));
    let again = home.run(&["stop", "digits"]);
    assert_eq!(again.status.code(), Some(1));
}

#[test]
fn a_viewer_that_is_killed_leaves_the_server_unharmed() {
    let home = Home::new();
    let mut server = home.serve(&["digits", "--load", "poisson:50"]);
    let mut viewer = home.terminal(&["attach"]);
    viewer.until("serving");
    viewer.signal(Signal::KILL);
    viewer.ends();
    let report = home.text(&["report", "digits", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["ensemble"], "digits");
    assert_eq!(report["counters"]["failed"], 0);
    let second = home.run(&["serve", "digits"]);
    let error = String::from_utf8_lossy(&second.stderr).into_owned();
    let said = "a server named `digits` is already running";
    assert!(error.contains(said), "{error}");
    kill_process(Pid::from_child(&server), Signal::TERM).expect("sent");
    assert!(ended(&mut server).success(), "it drained");
    let absent = home.run(&["attach", "digits"]);
    let error = String::from_utf8_lossy(&absent.stderr).into_owned();
    assert!(
        error.contains("no server `digits`: no server is running"),
        "{error}"
    );
}

#[test]
fn a_server_is_named_by_no_path_and_touches_no_file() {
    let home = Home::new();
    let file = home.path("mine.txt");
    std::fs::write(&file, "mine").expect("written");
    for name in [file.as_str(), "./mine.txt", "..", "", "a b", "-x"] {
        let named = home.run(&["serve", "digits", &format!("--name={name}")]);
        let error = String::from_utf8_lossy(&named.stderr).into_owned();
        assert_eq!(named.status.code(), Some(2), "{error}");
        let said = format!("server name `{name}`: expected 1 to 64 letters, digits");
        assert!(error.contains(&said), "{error}");
    }
    let left = std::fs::read_to_string(&file).expect("it is there");
    assert_eq!(left, "mine");
}

#[test]
fn a_read_only_viewer_changes_nothing() {
    let home = Home::new();
    let mut server = home.serve(&["digits"]);
    let mut viewer = home.terminal(&["attach", "digits", "--read-only"]);
    viewer.until("serving");
    viewer.send("e");
    viewer.until("cannot");
    viewer.signal(Signal::TERM);
    viewer.ends_clean();
    home.text(&["stop", "digits"]);
    assert!(ended(&mut server).success());
}

#[test]
fn what_was_recorded_is_played_and_reported() {
    let home = Home::new();
    let file = home.path("run.divisi");
    let options = ["--load", "closed:2x8", "--precision", "bf16"];
    let mut console = home.terminal(&[&options[..], &["--record", &file]].concat());
    console.until("serving");
    console.signal(Signal::TERM);
    console.ends_clean();
    let mut replay = home.terminal(&["replay", &file]);
    replay.until("serving");
    replay.send("e");
    replay.until("recording");
    replay.send("()< >  q");
    replay.ends_clean();
    let text = home.text(&["report", &file]);
    for part in [
        "allocation",
        "devices",
        "members",
        "latency",
        "counters",
        "cpu:0",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let (_, members) = text.split_once("\nmembers\n").expect("members");
    let mut lines = members.lines().take(7);
    assert!(lines.next().is_some_and(|head| head.contains("precision")));
    assert!(lines.all(|line| line.contains("  bf16  ")), "{text}");
    let rows = home.text(&["report", &file, "--format", "csv"]);
    let columns = |line: &str| line.split(',').count();
    let head = rows.lines().next().expect("a head");
    assert!(head.starts_with("section,device,member,batch_size"));
    assert!(rows.lines().all(|l| columns(l) == columns(head)));
    assert!(head.ends_with(",precision"));
    let mut members = rows.lines().filter(|l| l.starts_with("member,"));
    assert!(members.all(|l| l.ends_with(",bf16")), "{rows}");
    let taken = home.run(&["serve", "digits", "--record", &file]);
    let error = String::from_utf8_lossy(&taken.stderr).into_owned();
    assert!(error.contains("already exists"), "{error}");
}

#[test]
fn what_is_neither_recording_nor_ensemble_is_told_at_once() {
    let home = Home::new();
    let (pipe, short, cut) = (home.path("a.fifo"), home.path("r"), home.path("r.divisi"));
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("starts").success());
    fs::write(&short, "").expect("written");
    fs::write(&cut, "hello").expect("written");
    let both = "expected a recording or an ensemble's manifest, found 0 bytes";
    let recording = "expected a Divisi recording, found 5 bytes";
    for (arguments, said) in [
        (["report", &pipe], "expected a file, found a pipe"),
        (["report", "/dev/zero"], "expected a file, found a device"),
        (["replay", &pipe], "expected a file, found a pipe"),
        (["replay", "/dev/zero"], "expected a file, found a device"),
        (
            ["replay", &home.path("")],
            "expected a file, found a folder",
        ),
        (["report", &short], both),
        (["report", &cut], recording),
        (["replay", &cut], recording),
    ] {
        let mut divisi = home.command(&arguments);
        let mut divisi = divisi.stderr(Stdio::piped()).spawn().expect("starts");
        assert_eq!(ended(&mut divisi).code(), Some(1), "{arguments:?}");
        let error = divisi.wait_with_output().expect("ended").stderr;
        let error = String::from_utf8(error).expect("text");
        let path = arguments[1];
        assert_eq!(error, format!("divisi: {path}: {said}\n"));
    }
}

#[test]
fn listing_servers_removes_dead_sockets_and_nothing_else() {
    let home = Home::new();
    assert!(home.text(&["servers"]).contains("no server is running"));
    let at = |name: &str| home.path(&format!("divisi/{name}.sock"));
    let _datagrams = UnixDatagram::bind(at("datagrams")).expect("bound");
    let _silent = UnixListener::bind(at("silent")).expect("bound");
    drop(UnixListener::bind(at("dead")).expect("bound"));
    assert_eq!(home.text(&["servers"]).trim(), "silent");
    let there = |name: &str| fs::exists(at(name)).expect("looked");
    assert!(there("datagrams") && there("silent") && !there("dead"));
    let taken = home.run(&["serve", "digits", "--name", "silent"]);
    let error = String::from_utf8_lossy(&taken.stderr).into_owned();
    assert!(
        error.contains("a server named `silent` is already running"),
        "{error}"
    );
    let report = home.run(&["report", "silent"]);
    let error = String::from_utf8_lossy(&report.stderr).into_owned();
    let said = format!("divisi: {}: no answer came within 5s\n", at("silent"));
    assert_eq!(error, said);
}

#[test]
fn a_report_serves_an_ensemble_for_a_moment() {
    let home = Home::new();
    let text = home.text(&[
        "report",
        "digits",
        "--load",
        "closed:2x8",
        "--for",
        "0.5s",
        "--format",
        "json",
    ]);
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(report["counters"]["answered"].as_u64() > Some(0));
}

/// A console whose options say what becomes of its engine without a terminal.
fn with_option(home: &Home, option: &str, arguments: &[&str]) -> Terminal {
    with_options(
        home,
        &format!("[console]\nhang_up = \"{option}\"\n"),
        arguments,
    )
}

fn with_options(home: &Home, options: &str, arguments: &[&str]) -> Terminal {
    fs::write(home.path("config.toml"), options).expect("writes");
    let folder = home.path("");
    let all = [&["--load", "poisson:50", "--config", &folder], arguments].concat();
    let mut console = home.terminal(&all);
    console.until("serving");
    console
}

/// The terminal goes away, or only says so.
fn goes_away(console: &mut Terminal, signal: Option<Signal>) {
    match signal {
        Some(signal) => console.signal(signal),
        None => console.hang_up(),
    }
}

#[test]
fn an_engine_goes_on_without_its_terminal_where_the_options_say_so() {
    for signal in [None, Some(Signal::HUP)] {
        let home = Home::new();
        let mut console = with_option(&home, "background", &[]);
        goes_away(&mut console, signal);
        assert!(console.ends().success());
        assert_eq!(home.text(&["servers"]).trim(), "digits");
        let report = home.text(&["report", "digits", "--format", "json"]);
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        assert_eq!(report["counters"]["failed"], 0);
        assert!(home.text(&["stop", "digits"]).contains("stopped"));
        let log = fs::read_to_string(home.path("divisi/digits.log")).expect("a log");
        assert!(!log.contains('\u{1b}'), "{log:?}");
    }
}

#[test]
fn an_engine_whose_name_is_taken_goes_on_under_another_one() {
    let home = Home::new();
    let mut server = home.serve(&["digits"]);
    let mut console = with_option(&home, "background", &[]);
    goes_away(&mut console, Some(Signal::HUP));
    assert!(console.ends().success());
    assert_eq!(home.text(&["servers"]).trim(), "digits\ndigits-2");
    // Who is there chooses the background in the same way, and is told the name.
    let mut console = home.terminal(&["--load", "poisson:50"]);
    console.until("serving");
    console.send("q");
    console.shows("b background");
    console.send("b");
    console.until("`digits-3` continues to serve");
    assert!(console.ends().success());
    for name in ["digits-2", "digits-3", "digits"] {
        assert!(home.text(&["stop", name]).contains("stopped"));
    }
    assert!(ended(&mut server).success());
}

#[test]
fn a_hang_up_is_heard_among_what_a_shell_sends_with_it() {
    for _ in 0..3 {
        let home = Home::new();
        let mut console = with_option(&home, "background", &[]);
        // As to a job that is stopped: all of them at once.
        for signal in [Signal::STOP, Signal::TERM, Signal::HUP, Signal::CONT] {
            console.signal(signal);
        }
        assert!(console.ends().success());
        assert_eq!(home.text(&["servers"]).trim(), "digits");
        assert!(home.text(&["stop", "digits"]).contains("stopped"));
    }
}

#[test]
fn a_program_that_is_ended_without_a_terminal_was_hung_up_on() {
    let home = Home::new();
    let mut console = with_option(&home, "background", &[]);
    console.hang_up();
    console.signal(Signal::TERM);
    assert!(console.ends().success());
    assert_eq!(home.text(&["servers"]).trim(), "digits");
    assert!(home.text(&["stop", "digits"]).contains("stopped"));
}

#[test]
fn an_engine_shown_as_lines_goes_on_as_well() {
    for signal in [None, Some(Signal::HUP)] {
        let home = Home::new();
        let mut console = with_option(&home, "background", &["--linear"]);
        goes_away(&mut console, signal);
        wait_until("it serves without a terminal", || {
            home.text(&["servers"]).trim() == "digits"
        });
        assert!(home.text(&["stop", "digits"]).contains("stopped"));
        assert!(console.ends().success());
    }
}

#[test]
fn an_engine_goes_on_without_its_terminal_by_default_and_the_screen_says_so() {
    for signal in [None, Some(Signal::HUP)] {
        let home = Home::new();
        let mut console = with_options(&home, "", &[]);
        console.send("q");
        console.shows("Serving continues if this terminal closes");
        goes_away(&mut console, signal);
        assert!(console.ends().success());
        assert_eq!(home.text(&["servers"]).trim(), "digits");
        assert!(home.text(&["stop", "digits"]).contains("stopped"));
    }
}

#[test]
fn a_console_without_an_engine_of_its_own_ends_with_its_terminal() {
    let home = Home::new();
    let file = home.path("run.divisi");
    let mut server = home.serve(&["digits", "--record", &file]);
    // By default, an engine of its own would go on.
    fs::write(home.path("config.toml"), "").expect("writes");
    let folder = home.path("");
    let ends = |arguments: &[&str]| {
        let mut console = home.terminal(&[arguments, &["--config", &folder]].concat());
        console.until("serving");
        console.hang_up();
        console.ends();
    };
    for arguments in [&["attach", "digits"][..], &["demo"]] {
        ends(arguments);
        assert_eq!(home.text(&["servers"]).trim(), "digits", "{arguments:?}");
    }
    home.text(&["stop", "digits"]);
    assert!(ended(&mut server).success());
    // A recording is whole once its server has ended.
    ends(&["replay", &file]);
    assert!(home.text(&["servers"]).contains("no server is running"));
}

#[test]
fn an_engine_ends_with_its_terminal_where_the_options_say_so() {
    for arguments in [&[][..], &["--linear"]] {
        for signal in [None, Some(Signal::HUP)] {
            let home = Home::new();
            let mut console = with_option(&home, "stop", arguments);
            goes_away(&mut console, signal);
            assert!(console.ends().success());
            assert!(home.text(&["servers"]).contains("no server is running"));
        }
    }
}

#[test]
fn a_report_says_that_requests_are_refused_and_why() {
    let home = Home::new();
    let text = home.text(&[
        "report",
        "imn1",
        "--devices",
        "sim:v100",
        "--load",
        // More at once than its pool has places for.
        "closed:64x32",
        "--for",
        // On a busy machine the pool takes seconds to fill.
        "6s",
    ]);
    let head = text.lines().next().expect("a head");
    assert!(head.contains("fault: refusing requests:"), "{text}");
    let note = text
        .lines()
        .find(|l| l.starts_with("fault: requests refused:"));
    assert!(
        note.is_some_and(|l| l.contains("the pool is full")),
        "{text}"
    );
}
