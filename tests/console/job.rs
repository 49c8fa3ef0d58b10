//! The console as a job of a shell: stopped by a key or another program, continued in the
//! foreground or the background.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::folder::Folder;
use crate::terminal::Terminal;
use crate::wait::{wait_for, wait_until};

/// Off: the other screen, the mouse, marks around pasted text; on: the cursor.
const GIVEN_BACK: [&str; 4] = [
    "\u{1b}[?1049l",
    "\u{1b}[?1000l",
    "\u{1b}[?2004l",
    "\u{1b}[?25h",
];
const TAKEN: &str = "\u{1b}[?1049h";

/// A terminal with a shell, in which a console runs.
struct Shell {
    terminal: Terminal,
    /// The process that the shell has started.
    job: Pid,
    _home: Folder,
}

impl Shell {
    fn running(arguments: &str) -> Self {
        let home = Folder::new();
        // The terminal becomes the one that controls the shell's session.
        let mut shell = Command::new("setsid");
        shell.args(["--ctty", "--wait", "bash", "--norc", "--noprofile", "-i"]);
        shell
            .env("PS1", "READY> ")
            .env("DIVISI", env!("CARGO_BIN_EXE_divisi"));
        for name in ["HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"] {
            shell.env(name, home.path());
        }
        let mut terminal = Terminal::of(100, 30, shell);
        terminal.until("READY> ");
        let shell = terminal.process();
        let mut shell = Shell {
            terminal,
            job: shell,
            _home: home,
        };
        shell.console(arguments);
        shell
    }

    /// Starts a console as another job.
    fn console(&mut self, arguments: &str) {
        self.terminal.send(&format!("\"$DIVISI\" {arguments}\r"));
        self.terminal.until("serving");
        let first = self.terminal.process();
        self.job = newest_child(first).expect("the shell runs it");
        self.terminal.is_raw(true);
    }

    /// The process that draws: the job itself, or its child.
    fn console_process(&self) -> Pid {
        newest_child(self.job).unwrap_or(self.job)
    }

    /// Waits until the shell has its prompt, and returns what was written until then.
    #[track_caller]
    fn is_stopped(&mut self) -> String {
        let written = self.terminal.until("READY> ");
        self.terminal.is_raw(false);
        written
    }

    /// Continues the console: it draws all anew, and a key works without Enter.
    #[track_caller]
    fn comes_back(&mut self) {
        self.terminal.send("fg\r");
        self.terminal.until(TAKEN);
        self.terminal.is_raw(true);
        self.terminal.shows("serving");
        self.terminal.send("?");
        self.terminal.shows("type to search");
        self.terminal.send("\u{1b}");
        // The shell gets a key that the console has not read: Escape and "f" move its cursor. A
        // screen in the middle of a second redraw has no help either, so only a whole one counts.
        self.is_whole_without("type to search");
    }

    /// Waits until the screen is drawn from its first to its last line and no line has `text`.
    #[track_caller]
    fn is_whole_without(&mut self, text: &str) {
        wait_for(|| {
            self.terminal.discard();
            let lines = self.terminal.lines();
            let ends = [lines.first(), lines.last()];
            let drawn = ends
                .iter()
                .all(|line| line.is_some_and(|l| !l.trim().is_empty()));
            let without = drawn && !lines.iter().any(|line| line.contains(text));
            without.then_some(()).ok_or(lines)
        });
    }

    fn end(self) {
        let console = self.console_process();
        for process in [console, self.job, self.terminal.process()] {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// Returns the fields after the name of a process: its state, its parent and so on.
fn stat(pid: Pid) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn newest_child(parent: Pid) -> Option<Pid> {
    let is_child = |pid: &Pid| stat(*pid).is_some_and(|s| s[1] == parent.to_string());
    let processes = fs::read_dir("/proc").expect("processes");
    let numbers = processes.filter_map(|p| p.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(Pid::from_raw)
        .filter(is_child)
        .max_by_key(|p| p.as_raw_nonzero())
}

fn is_in_state(pid: Pid, state: &str) -> bool {
    stat(pid).is_some_and(|s| s[0] == state)
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Job,
    Console,
    Both,
}

fn send(shell: &Shell, target: Target, signal: Signal) {
    let sent = match target {
        Target::Job => kill_process(shell.job, signal),
        Target::Console => kill_process(shell.console_process(), signal),
        Target::Both => kill_process_group(shell.job, signal),
    };
    sent.expect("sent");
}

fn is_given_back(written: &str) -> bool {
    GIVEN_BACK.iter().all(|sequence| written.contains(sequence))
}

#[test]
fn a_console_that_another_program_stops_gives_the_terminal_back_and_takes_it_again() {
    let mut shell = Shell::running("--load none");
    for target in [Target::Job, Target::Console, Target::Both, Target::Job] {
        send(&shell, target, Signal::TSTP);
        let written = shell.is_stopped();
        assert!(is_given_back(&written), "{target:?}: {written:?}");
        let console = shell.console_process();
        wait_until("it is stopped", || is_in_state(console, "T"));
        shell.comes_back();
    }
    shell.terminal.send("\u{1a}");
    assert!(is_given_back(&shell.is_stopped()));
    shell.comes_back();
    shell.end();
}

#[test]
fn a_console_that_is_stopped_without_a_warning_takes_the_terminal_again() {
    let mut shell = Shell::running("--load none");
    for target in [Target::Job, Target::Console, Target::Both] {
        send(&shell, target, Signal::STOP);
        shell.is_stopped();
        shell.comes_back();
    }
    shell.end();
}

#[test]
fn two_requests_to_stop_stop_once_each() {
    let mut shell = Shell::running("--load none");
    send(&shell, Target::Job, Signal::TSTP);
    send(&shell, Target::Console, Signal::TSTP);
    shell.is_stopped();
    shell.comes_back();
    send(&shell, Target::Both, Signal::TSTP);
    send(&shell, Target::Both, Signal::TSTP);
    shell.is_stopped();
    shell.comes_back();
    shell.end();
}

#[test]
fn a_console_in_the_background_leaves_the_terminal_to_the_shell() {
    for signal in [Signal::TSTP, Signal::STOP] {
        let mut shell = Shell::running("--load none");
        send(&shell, Target::Both, signal);
        shell.is_stopped();
        shell.terminal.send("bg\r");
        let console = shell.console_process();
        wait_until("it goes on", || !is_in_state(console, "T"));
        // It hears of changes, and draws none of them.
        shell.terminal.send("echo $((6 * 7)) answers\r");
        let written = shell.terminal.until("42 answers");
        shell.terminal.send("jobs\r");
        let written = written + &shell.terminal.until("unning");
        assert!(!written.contains(TAKEN), "{written:?}");
        assert!(!written.contains("samples/s"), "{written:?}");
        shell.comes_back();
        shell.end();
    }
}

#[test]
fn the_size_may_change_and_a_dialog_may_be_open_while_it_is_stopped() {
    let mut shell = Shell::running("--load none");
    shell.terminal.send("q");
    shell.terminal.shows("Stop serving, or continue");
    send(&shell, Target::Job, Signal::TSTP);
    shell.is_stopped();
    shell.terminal.resize(130, 44);
    shell.terminal.send("fg\r");
    shell.terminal.until(TAKEN);
    shell.terminal.shows("Stop serving, or continue");
    wait_for(|| {
        shell.terminal.discard();
        let lines = shell.terminal.lines();
        let last = lines.last().is_some_and(|line| !line.trim().is_empty());
        last.then_some(()).ok_or(lines)
    });
    shell.terminal.send("\u{1b}");
    shell.terminal.hides("Stop serving, or continue");
    shell.end();
}

#[test]
fn every_kind_of_console_stops_and_comes_back() {
    let mut shell = Shell::running("--load none --record run.divisi");
    shell.terminal.send("q");
    shell.terminal.shows("b background");
    shell.terminal.send("b");
    shell.terminal.until("READY> ");
    let recorded = "replay run.divisi";
    for arguments in ["attach digits", "demo", recorded] {
        shell.console(arguments);
        for signal in [Signal::TSTP, Signal::STOP] {
            send(&shell, Target::Job, signal);
            shell.is_stopped();
            shell.comes_back();
        }
        kill_process(shell.job, Signal::TERM).expect("sent");
        shell.terminal.until("READY> ");
    }
    shell.terminal.send("\"$DIVISI\" stop digits\r");
    shell.terminal.until("stopped");
}
