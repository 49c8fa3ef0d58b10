//! Linear mode: changes as lines, for screen readers and logs, and commands as lines. It writes no
//! screen and no escape codes.
//!
//! `watch` turns snapshots into lines. [`LineDesk`] answers lines by the table of commands. Only
//! [`run`] uses time, standard input and output.

mod tasks;
mod watch;

use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use divisi_runtime::words::one_line;
use divisi_session::{Command, Session, Terms};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{MissedTickBehavior, interval};

use crate::actions::{self, AskedLines, LineFront, StagedLines};
use crate::config::{HangUp, Settings};
use crate::model::Options;

pub use watch::Watcher;

/// The interval between snapshots of the session.
const LOOK: Duration = Duration::from_millis(500);
/// The maximum number of queued lines.
const WAITING: usize = 16;

/// Prints changes until `quit`, a signal, or the end of a terminal's input. The end of a pipe or
/// file ends the commands but not the serving, since a service has no input.
///
/// # Errors
/// Signals cannot be received, or standard output fails.
pub async fn run(
    mut session: Box<dyn Session>,
    options: Options,
    every: Duration,
    settings: &Settings,
) -> Result<()> {
    let mut desk = LineDesk::new(options.read_only, settings.config.terms);
    let mut watcher = Watcher::new(every);
    let mut lines = read_lines();
    let mut reading = true;
    let terminal = io::stdin().is_terminal();
    let mut ends = EndSignals::new()?;
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let mut said = Vec::new();
        let mut leave = false;
        tokio::select! {
            biased;
            hung_up = ends.next() => {
                if hung_up {
                    hand_over(session.as_mut(), settings.config.hang_up);
                }
                leave = true;
            }
            line = lines.recv(), if reading => match line {
                Some(line) => {
                    let answer = desk.bytes(&line, session.as_mut());
                    (said, leave) = (answer.lines, answer.leave);
                }
                None => {
                    reading = false;
                    leave = terminal;
                    // The end of the terminal's input, or of the terminal.
                    if terminal && !io::stdin().is_terminal() {
                        hand_over(session.as_mut(), settings.config.hang_up);
                    }
                }
            },
            _ = looks.tick() => {
                drop_spans(session.as_mut());
                said = watcher.news(&session.snapshot());
                said.extend(desk.answers(session.as_mut()));
            }
        }
        match say(&said) {
            Ok(read) if read && !leave => {}
            Err(_) if terminal && !io::stdin().is_terminal() => {
                hand_over(session.as_mut(), settings.config.hang_up);
                return Ok(());
            }
            other => return other.map(drop),
        }
    }
}

/// Handles the loss of the terminal: the option decides about the engine.
fn hand_over(session: &mut dyn Session, option: HangUp) {
    let attached = session.snapshot().audience.attached;
    if option == HangUp::Background && !attached {
        // If the engine cannot continue, it ends, and nothing can show the error.
        let _ = session.command(Command::KeepServing);
    }
}

/// Drops spans, which are not printed. Spans that are not taken count as lost.
fn drop_spans(session: &mut dyn Session) {
    let _ = session.drain_spans(&mut Vec::new());
}

/// Writes lines at once. Returns false if the reader has gone.
fn say(lines: &[String]) -> Result<bool> {
    let mut out = io::stdout().lock();
    let written = lines
        .iter()
        .try_for_each(|line| writeln!(out, "{}", one_line(line)));
    match written.and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(e).context("cannot write"),
    }
}

/// The bytes of a typed line.
type TypedLine = Vec<u8>;

/// Reads lines of standard input in a separate thread, since reading cannot be interrupted.
fn read_lines() -> Receiver<TypedLine> {
    let (sender, lines) = channel(WAITING);
    // Without the thread there are no commands, like at the end of the input.
    let _ = thread::Builder::new()
        .name("lines".into())
        .spawn(move || pass_on(&sender));
    lines
}

fn pass_on(to: &Sender<TypedLine>) {
    for line in io::stdin().lock().split(b'\n') {
        let Ok(line) = line else { return };
        if to.blocking_send(line).is_err() {
            return;
        }
    }
}

/// The signals that end the program.
struct EndSignals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
}

impl EndSignals {
    fn new() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(EndSignals {
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Waits for a signal. Returns true if the terminal goes away, regardless of other signals that
    /// a shell sends with the hang-up.
    async fn next(&mut self) -> bool {
        tokio::select! {
            biased;
            _ = self.hang_up.recv() => true,
            _ = self.terminate.recv() => false,
            _ = self.interrupt.recv() => false,
        }
    }
}

/// The answer to a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineAnswer {
    /// The lines to print.
    pub lines: Vec<String>,
    /// Whether the program ends.
    pub leave: bool,
}

/// The changes staged by lines, and the rights of lines.
#[derive(Debug)]
pub struct LineDesk {
    read_only: bool,
    /// The terms of `apply probation`.
    terms: Terms,
    staged: StagedLines,
    asked: AskedLines,
}

impl LineDesk {
    /// Creates a desk without staged changes.
    pub fn new(read_only: bool, terms: Terms) -> Self {
        LineDesk {
            read_only,
            terms,
            staged: StagedLines::default(),
            asked: AskedLines::default(),
        }
    }

    /// Runs a line of bytes. Bytes that are not UTF-8 are refused.
    pub fn bytes(&mut self, line: &[u8], session: &mut dyn Session) -> LineAnswer {
        match str::from_utf8(line) {
            Ok(line) => self.line(line, session),
            Err(_) => LineAnswer {
                lines: vec!["no: expected UTF-8 text".into()],
                leave: false,
            },
        }
    }

    /// Returns the answers to earlier what-if questions that have arrived.
    pub fn answers(&mut self, session: &mut dyn Session) -> Vec<String> {
        self.asked.answers(session)
    }

    /// Runs a line.
    pub fn line(&mut self, line: &str, session: &mut dyn Session) -> LineAnswer {
        let shown = session.snapshot();
        let mut front = LineFront {
            session,
            shown: &shown,
            staged: &mut self.staged,
            asked: &mut self.asked,
            terms: self.terms,
            read_only: self.read_only,
            leave: false,
        };
        let said = actions::say(&mut front, line);
        LineAnswer {
            leave: front.leave,
            lines: said.unwrap_or_else(|wrong| vec![format!("no: {wrong}")]),
        }
    }
}
