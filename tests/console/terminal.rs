//! The program on a real terminal: it leaves it as it found it, on every way out.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};

/// What does not happen for so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program in a pseudo-terminal of its own.
pub struct Terminal {
    screen: File,
    slave: OwnedFd,
    found: Termios,
    program: Child,
}

/// A cache of this process's own.
fn cache() -> PathBuf {
    std::env::temp_dir().join(format!("divisi-terminal-{}", std::process::id()))
}

impl Terminal {
    pub fn start(columns: u16, rows: u16, arguments: &[&str]) -> Self {
        Terminal::start_in(columns, rows, arguments, &[])
    }

    /// The same with these variables.
    pub fn with(columns: u16, rows: u16, arguments: &[&str], variables: &[(&str, &Path)]) -> Self {
        let variables: Vec<(String, String)> = variables
            .iter()
            .map(|(name, path)| ((*name).to_owned(), path.to_str().unwrap().to_owned()))
            .collect();
        let borrowed: Vec<(&str, &str)> = variables
            .iter()
            .map(|(name, path)| (name.as_str(), path.as_str()))
            .collect();
        Terminal::start_in(columns, rows, arguments, &borrowed)
    }

    /// The same with more in the program's environment.
    pub fn start_in(
        columns: u16,
        rows: u16,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a pseudo-terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let slave = rustix::fs::open(name, flags, Mode::empty()).expect("opens");
        let size = Winsize {
            ws_col: columns,
            ws_row: rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).expect("a size");
        let end = || slave.try_clone().expect("a copy");
        let program = Command::new(env!("CARGO_BIN_EXE_divisi"))
            .args(arguments)
            .env("TERM", "xterm-256color")
            // What earlier searches found would end one at once.
            .env("XDG_CACHE_HOME", cache())
            .env("XDG_CONFIG_HOME", cache())
            .env("XDG_STATE_HOME", cache())
            .env("LC_ALL", "C.UTF-8")
            .envs(environment.iter().copied())
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the program starts");
        Terminal {
            found: tcgetattr(&slave).expect("attributes"),
            screen: File::from(master),
            slave,
            program,
        }
    }

    /// Reads what is written until it contains `text`.
    pub fn until(&mut self, text: &str) -> String {
        let mut all = String::new();
        let mut bytes = [0; 4096];
        let started = Instant::now();
        while !all.contains(text) {
            if started.elapsed() > PATIENCE {
                let _ = self.program.kill();
                panic!("{text:?} never came, though other things did");
            }
            self.await_output(text);
            let read = self.screen.read(&mut bytes).expect("the program writes");
            all.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        all
    }

    /// What is written next, as it comes.
    pub fn read(&mut self, wanted: &str) -> Vec<u8> {
        let mut bytes = [0; 4096];
        self.await_output(wanted);
        let read = self.screen.read(&mut bytes).expect("the program writes");
        bytes[..read].to_vec()
    }

    /// Takes what was written so far, so that the program never waits to write.
    pub fn discard(&mut self) {
        let mut ready = [PollFd::new(&self.screen, PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if poll(&mut ready, Some(&now)).expect("polls") > 0 {
            self.read("anything");
        }
    }

    /// All that is written until the program has ended, and how it ended.
    pub fn rest(mut self) -> (Vec<u8>, ExitStatus) {
        let mut all = Vec::new();
        let started = Instant::now();
        let status = loop {
            let ended = self.program.try_wait().expect("it can be waited for");
            let mut ready = [PollFd::new(&self.screen, PollFlags::IN)];
            let moment = Timespec {
                tv_sec: 0,
                tv_nsec: 20_000_000,
            };
            if poll(&mut ready, Some(&moment)).expect("polls") > 0 {
                all.extend(self.read("the rest"));
            } else if let Some(status) = ended {
                break status;
            }
            assert!(started.elapsed() < PATIENCE, "it never ended");
        };
        self.is_as_found();
        (all, status)
    }

    fn is_as_found(&self) {
        let left = tcgetattr(&self.slave).expect("attributes");
        assert_eq!(left.local_modes, self.found.local_modes);
        assert_eq!(left.input_modes, self.found.input_modes);
        assert_eq!(left.output_modes, self.found.output_modes);
    }

    /// A program that says nothing for so long is a failed test, not a hanging one.
    fn await_output(&mut self, wanted: &str) {
        let mut ready = [PollFd::new(&self.screen, PollFlags::IN)];
        let most = Timespec {
            tv_sec: PATIENCE.as_secs() as i64,
            tv_nsec: 0,
        };
        let count = poll(&mut ready, Some(&most)).expect("polls");
        if count == 0 {
            let _ = self.program.kill();
            panic!("{wanted:?} never came");
        }
    }

    pub fn send(&mut self, keys: &str) {
        self.screen.write_all(keys.as_bytes()).expect("typed");
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.program);
        kill_process(pid, signal).expect("sent");
    }

    /// Lets a stopped program go on until `text` comes. It may be stopped only after
    /// the first time.
    pub fn proceeds(&mut self, text: &str) -> String {
        let mut all = String::new();
        let started = Instant::now();
        while !all.contains(text) {
            assert!(started.elapsed() < PATIENCE, "{text:?} never came");
            let mut ready = [PollFd::new(&self.screen, PollFlags::IN)];
            let moment = Timespec {
                tv_sec: 0,
                tv_nsec: 100_000_000,
            };
            match poll(&mut ready, Some(&moment)).expect("polls") {
                0 => self.signal(Signal::CONT),
                _ => all.push_str(&String::from_utf8_lossy(&self.read(text))),
            }
        }
        all
    }

    /// The program's end, however it comes.
    pub fn wait(mut self) {
        self.program.wait().expect("it ends");
    }

    /// The program ends by itself and the terminal is as it was.
    pub fn ends_clean(mut self) {
        let last = self.until("\u{1b}[?1049l");
        assert!(last.contains("\u{1b}[?1049l"), "back from the other screen");
        let status = self.program.wait().expect("it ends");
        assert!(status.success(), "{status}");
        self.is_as_found();
        assert!(
            self.found
                .local_modes
                .contains(LocalModes::ECHO | LocalModes::ICANON)
        );
    }
}

pub fn serving(columns: u16, rows: u16) -> Terminal {
    let mut terminal = Terminal::start(columns, rows, &["--load", "poisson:50"]);
    terminal.until("serving");
    terminal
}

#[test]
fn keys_that_leave_restore_the_terminal() {
    for keys in ["q", "\u{3}"] {
        let mut terminal = serving(80, 24);
        terminal.send(keys);
        if keys == "q" {
            // What becomes of the engine is asked.
            terminal.until("background");
            terminal.send("s");
        }
        terminal.ends_clean();
    }
}

#[test]
fn signals_restore_the_terminal() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        let terminal = serving(200, 60);
        terminal.signal(signal);
        terminal.ends_clean();
    }
}

#[test]
fn a_terminal_that_is_too_small_is_told_and_left_whole() {
    let mut terminal = Terminal::start(10, 5, &["--load", "none"]);
    terminal.until("\u{1b}[?1049h");
    terminal.send("q");
    terminal.ends_clean();
}

#[test]
fn leaving_while_a_search_measures_ends_it() {
    let mut terminal = serving(160, 50);
    terminal.send("s");
    terminal.until("greedy");
    // Greedy runs real workers.
    terminal.send("j\r");
    terminal.until("running");
    terminal.signal(Signal::TERM);
    terminal.ends_clean();
}
