//! Linear mode: what changes as lines, for screen readers and logs, and commands as
//! lines. No screen and no escape codes.
//!
//! `watch` turns snapshots into lines; [`LineDesk`] answers lines by the table of commands.
//! Only [`run`] knows time, standard input and output.

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

use crate::actions::{self, LineFront, StagedLines};
use crate::config::{HangUp, Settings};
use crate::model::Options;

pub use watch::Watcher;

/// Between looks at the session: twice a second.
const LOOK: Duration = Duration::from_millis(500);
/// Lines that wait to be done.
const WAITING: usize = 16;

/// Says what changes until `quit`, a signal, or the end of a terminal's input. The end
/// of a pipe or file ends the commands and not the serving: a service has no input.
///
/// # Errors
/// Signals cannot be listened to, or standard output fails.
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
                    // The end of its input, or its own.
                    if terminal && !io::stdin().is_terminal() {
                        hand_over(session.as_mut(), settings.config.hang_up);
                    }
                }
            },
            _ = looks.tick() => {
                drop_spans(session.as_mut());
                said = watcher.news(&session.snapshot());
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

/// The terminal went away: what becomes of the engine is in the options.
fn hand_over(session: &mut dyn Session, option: HangUp) {
    let attached = session.snapshot().audience.attached;
    if option == HangUp::Background && !attached {
        // Where it cannot be done it ends, and there is nobody to tell.
        let _ = session.command(Command::KeepServing);
    }
}

/// Spans are not said; who does not take them would count them as lost.
fn drop_spans(session: &mut dyn Session) {
    let _ = session.drain_spans(&mut Vec::new());
}

/// Writes lines at once; false where nobody reads any more.
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

/// The bytes of a line as they were typed.
type TypedLine = Vec<u8>;

/// Lines of standard input, read by a thread of their own: reading cannot be stopped.
fn read_lines() -> Receiver<TypedLine> {
    let (sender, lines) = channel(WAITING);
    // Without the thread there are no commands, as at the end of the input.
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

    /// Waits for one; true where it is that the terminal goes away, whatever else a shell
    /// sends along with that.
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
    /// The program is to end.
    pub leave: bool,
}

/// The changes that lines have staged so far, and what lines may do.
#[derive(Debug)]
pub struct LineDesk {
    read_only: bool,
    /// The terms of `apply probation`.
    terms: Terms,
    staged: StagedLines,
}

impl LineDesk {
    /// A desk on which nothing is staged.
    pub fn new(read_only: bool, terms: Terms) -> Self {
        LineDesk {
            read_only,
            terms,
            staged: StagedLines::default(),
        }
    }

    /// Does what the bytes of a line ask for. Those that are not UTF-8 are refused.
    pub fn bytes(&mut self, line: &[u8], session: &mut dyn Session) -> LineAnswer {
        match str::from_utf8(line) {
            Ok(line) => self.line(line, session),
            Err(_) => LineAnswer {
                lines: vec!["no: expected UTF-8 text".into()],
                leave: false,
            },
        }
    }

    /// Does what a line asks for.
    pub fn line(&mut self, line: &str, session: &mut dyn Session) -> LineAnswer {
        let shown = session.snapshot();
        let mut front = LineFront {
            session,
            shown: &shown,
            staged: &mut self.staged,
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
