//! The program on a real terminal: it leaves it as it found it, on every way out.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::cells::Cells;
use crate::wait::wait_for;

/// Between two looks at whether the program has ended.
const MOMENT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// The program in a pseudo-terminal of its own.
pub struct Terminal {
    /// The terminal's own end, until it goes away.
    screen: Option<File>,
    shown: Cells,
    slave: OwnedFd,
    found: Termios,
    program: Child,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed leaves nothing running.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// How the program ended.
#[track_caller]
pub fn ended(program: &mut Child) -> ExitStatus {
    wait_for(|| {
        let status = program.try_wait().expect("it can be waited for");
        status.ok_or_else(|| format!("process {} runs", program.id()))
    })
}

/// A cache of this process's own. Consoles whose options are read there end with their
/// terminals: a test that failed leaves no server behind.
fn cache() -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let name = format!("divisi-terminal-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // In containers the numbers of processes begin again: an earlier run may have left one.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("divisi")).expect("a folder");
        let options = "[console]\nhang_up = \"stop\"\n";
        fs::write(path.join("divisi/config.toml"), options).expect("written");
        path
    });
    made.clone()
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
        let mut program = Command::new(env!("CARGO_BIN_EXE_divisi"));
        program.args(arguments).envs(environment.iter().copied());
        Terminal::of(columns, rows, program)
    }

    /// Any program, in a cache of this process's own unless its environment says otherwise.
    pub fn of(columns: u16, rows: u16, mut program: Command) -> Self {
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
        // Before the program can have changed them.
        let found = tcgetattr(&slave).expect("attributes");
        let end = || slave.try_clone().expect("a copy");
        let variables = [
            ("TERM", "xterm-256color".into()),
            // What earlier searches found would end one at once.
            ("XDG_CACHE_HOME", cache()),
            ("XDG_CONFIG_HOME", cache()),
            ("XDG_STATE_HOME", cache()),
            ("LC_ALL", "C.UTF-8".into()),
        ];
        for (name, value) in variables {
            if program.get_envs().all(|(known, _)| known != name) {
                program.env(name, value);
            }
        }
        let program = program
            // Random keys write files where the program runs.
            .current_dir(cache())
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the program starts");
        Terminal {
            found,
            screen: Some(File::from(master)),
            shown: Cells::new(columns, rows),
            slave,
            program,
        }
    }

    /// Reads what is written until it contains `text`.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> String {
        let mut all = String::new();
        wait_for(|| {
            all.push_str(&String::from_utf8_lossy(&self.read()));
            let there = all.contains(text);
            there.then_some(()).ok_or_else(|| self.shown.lines())
        });
        all
    }

    /// Reads what is written until the screen has `text` in one line.
    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        wait_for(|| {
            self.read();
            let there = self.shown.show(text);
            there.then_some(()).ok_or_else(|| self.shown.lines())
        });
    }

    /// Reads what is written until no line of the screen has `text`.
    #[track_caller]
    pub fn hides(&mut self, text: &str) {
        wait_for(|| {
            self.read();
            let there = self.shown.show(text);
            (!there).then_some(()).ok_or_else(|| self.shown.lines())
        });
    }

    pub fn lines(&self) -> Vec<String> {
        self.shown.lines()
    }

    /// Leaves as a person does: what becomes of the engine is asked.
    #[track_caller]
    pub fn leave(mut self) {
        self.send("q");
        self.shows("s stop");
        self.send("s");
        self.ends_clean();
    }

    fn read(&mut self) -> Vec<u8> {
        self.read_within(&MOMENT)
    }

    /// Returns the bytes written within `time`, of which there may be none.
    fn read_within(&mut self, time: &Timespec) -> Vec<u8> {
        let screen = self.screen.as_mut().expect("the terminal is there");
        let mut ready = [PollFd::new(screen, PollFlags::IN)];
        match poll(&mut ready, Some(time)) {
            // A signal says nothing of what was written.
            Ok(0) | Err(Errno::INTR) => return Vec::new(),
            other => {
                other.expect("polls");
            }
        }
        let mut bytes = vec![0; 4096];
        let read = screen.read(&mut bytes).expect("the program writes");
        bytes.truncate(read);
        self.shown.take(&bytes);
        bytes
    }

    /// Takes what was written so far, so that the program never waits to write.
    pub fn discard(&mut self) {
        self.read_within(&Timespec::default());
    }

    /// All that is written until the program has ended, and how it ended.
    #[track_caller]
    pub fn rest(mut self) -> (Vec<u8>, ExitStatus) {
        let mut all = Vec::new();
        let status = wait_for(|| {
            let ended = self.program.try_wait().expect("it can be waited for");
            let more = self.read();
            all.extend(&more);
            let status = ended.filter(|_| more.is_empty());
            status.ok_or_else(|| self.shown.lines())
        });
        self.is_as_found();
        (all, status)
    }

    fn is_as_found(&self) {
        let left = tcgetattr(&self.slave).expect("attributes");
        assert_eq!(left.local_modes, self.found.local_modes);
        assert_eq!(left.input_modes, self.found.input_modes);
        assert_eq!(left.output_modes, self.found.output_modes);
    }

    pub fn send(&mut self, keys: &str) {
        let screen = self.screen.as_mut().expect("the terminal is there");
        screen.write_all(keys.as_bytes()).expect("typed");
    }

    /// The terminal goes away, as when its window is closed.
    pub fn hang_up(&mut self) {
        self.screen = None;
    }

    /// Returns the process id of the program.
    pub fn process(&self) -> Pid {
        Pid::from_child(&self.program)
    }

    /// Waits until the terminal passes every key on as it is pressed, or none.
    #[track_caller]
    pub fn is_raw(&mut self, raw: bool) {
        let modes = LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        wait_for(|| {
            self.read();
            let now = tcgetattr(&self.slave).expect("attributes").local_modes & modes;
            (now.is_empty() == raw).then_some(()).ok_or(now)
        });
    }

    /// The window has another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let size = Winsize {
            ws_col: columns,
            ws_row: rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let screen = self.screen.as_ref().expect("the terminal is there");
        tcsetwinsize(screen, size).expect("a size");
        self.shown = Cells::new(columns, rows);
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.program);
        kill_process(pid, signal).expect("sent");
    }

    /// Lets a stopped program go on until `text` comes. It may be stopped only after
    /// the first time.
    #[track_caller]
    pub fn proceeds(&mut self, text: &str) -> String {
        let mut all = String::new();
        wait_for(|| {
            let more = self.read();
            if more.is_empty() {
                self.signal(Signal::CONT);
            }
            all.push_str(&String::from_utf8_lossy(&more));
            let there = all.contains(text);
            there.then_some(()).ok_or_else(|| self.shown.lines())
        });
        all
    }

    /// The program's end, however it comes.
    #[track_caller]
    pub fn ends(&mut self) -> ExitStatus {
        ended(&mut self.program)
    }

    /// The program ends by itself and the terminal is as it was.
    #[track_caller]
    pub fn ends_clean(mut self) {
        self.until("\u{1b}[?1049l");
        let status = self.ends();
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
        // What becomes of the engine is asked.
        terminal.shows("s stop");
        terminal.send("s");
        terminal.ends_clean();
    }
}

#[test]
fn no_key_that_asks_to_leave_leaves() {
    for keys in ["q", "\u{3}"] {
        let mut terminal = serving(80, 24);
        terminal.send(keys);
        terminal.shows("s stop");
        for _ in 0..5 {
            terminal.send(keys);
        }
        terminal.send("\u{1b}");
        terminal.hides("s stop");
        terminal.leave();
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
    terminal.shows("too");
    terminal.send("q");
    terminal.shows("Leave?");
    terminal.send("s");
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
