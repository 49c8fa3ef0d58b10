//! `divisi [ENSEMBLE]`: the console on an ensemble. Its engine may continue in the background.
//!
//! The console runs in a child of a thin parent. When it hands its engine over, the parent ends, so
//! that the shell gets its prompt back. The child process leaves the terminal and serves at its
//! socket.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use divisi_model::codes::Code;
use divisi_model::trace::Span;
use divisi_model::user_folders;
use divisi_server::{ServeOptions, Server, StartLoad};
use divisi_session::record::Recorder;
use divisi_session::remote::{BoundSocket, Hub, PlaceError, ServerName};
use divisi_session::{
    Command, EditPreview, LiveSession, Refusal, Session, Setup, Snapshot, WhatIf, WhatIfReply,
};
use rustix::process::{Pid, Signal, getppid, kill_process, setsid};

use divisi_door::notices::Notices;

use super::args::parse_start_load;
use super::companion::{parent, run_in_child};
use super::listen::ConsoleAddresses;
use super::serve::log_to_stderr;
use super::signals;
use super::start::{self, DisplayMode};
use super::tasks::NamedModels;
use crate::config::time;

#[derive(Debug, clap::Args)]
pub(crate) struct ConsoleArgs {
    #[command(flatten)]
    models: NamedModels,
    /// Start with the matrix and precisions in this file (default: worst-fit decreasing)
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Initial load: closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE, burst[:RATE], none, or
    /// usual (poisson:200, on CPUs at most about half of capacity)
    #[arg(long, value_name = "PATTERN", default_value = "usual", value_parser = parse_start_load)]
    load: StartLoad,
    /// Record the session to a new FILE, for `divisi replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Watch only, without changing anything
    #[arg(long)]
    read_only: bool,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    no_mouse: bool,
    /// Print changes as lines and read commands as lines, for screen readers and logs (always if
    /// TERM is dumb)
    #[arg(long)]
    pub(super) linear: bool,
    /// Interval between summaries in linear mode, such as 5s (default: as configured)
    #[arg(long, value_name = "TIME", value_parser = time)]
    every: Option<Duration>,
    #[command(flatten)]
    addresses: ConsoleAddresses,
    /// Panic after a while, on the console's thread or another
    #[cfg(debug_assertions)]
    #[arg(long, hide = true, value_enum)]
    panic_for_test: Option<super::fragile::PanicPlace>,
}

impl ConsoleArgs {
    /// Returns the ensemble that is named.
    pub(super) fn ensemble(&self) -> &Path {
        &self.models.target.ensemble
    }
}

pub(crate) fn run(args: &ConsoleArgs) -> Result<()> {
    let way = start::way(args.linear)?;
    let parent = parent();
    let screen = way == DisplayMode::Screen;
    if screen
        && parent.is_none()
        && let Some(code) = run_in_child()
    {
        std::process::exit(code);
    }
    // Errors in the configuration are reported before anything starts.
    crate::config::load()?;
    let options = ServeOptions {
        matrix: args.matrix.clone(),
        load: args.load.clone(),
        record: args.record.clone(),
        door: args.addresses.options(Notices::default())?,
        ..ServeOptions::default()
    };
    let Server { session, .. } = start::server(&args.models, options)?;
    let kept = KeptServing::default();
    let parting = ConsoleSession {
        session: Some(session),
        may_stay: parent.is_some() && !args.read_only,
        kept: Arc::clone(&kept),
        #[cfg(debug_assertions)]
        panics: args.panic_for_test.map(super::fragile::DuePanic::new),
    };
    let options = start::options(args.read_only, !args.no_mouse);
    start::show(Box::new(parting), options, way, args.every)?;
    let left = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
    match left {
        (Some(door), Some(session)) => go_on(session, door, parent),
        _ => Ok(()),
    }
}

/// The part that outlives the console: a socket and the session.
type KeptServing = Arc<Mutex<(Option<BoundSocket>, Option<Recorder<LiveSession>>)>>;

/// The session of the console. At the end it is handed over on request. Otherwise it is shut down,
/// with a message if requests are still in progress.
struct ConsoleSession {
    session: Option<Recorder<LiveSession>>,
    /// Whether the console may offer to keep it running.
    may_stay: bool,
    kept: KeptServing,
    #[cfg(debug_assertions)]
    panics: Option<super::fragile::DuePanic>,
}

impl ConsoleSession {
    fn own(&mut self) -> Result<&mut Recorder<LiveSession>, Refusal> {
        let gone = || Refusal::new(Code::ServerGone, "the session has ended");
        self.session.as_mut().ok_or_else(gone)
    }

    /// Opens the socket now, so that the console shows any error.
    fn keep(&mut self) -> Result<(), Refusal> {
        let own = self.own()?;
        let wanted = own.snapshot().ensemble;
        let door =
            free_door(&wanted).map_err(|e| Refusal::new(Code::NotLeftRunning, e.to_string()))?;
        if *door.name() != ServerName::like(&wanted) {
            let name = door.name();
            let text =
                format!("the name `{wanted}` is taken by another server; this one is `{name}`");
            own.inner().warn(&text);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0 = Some(door);
        Ok(())
    }
}

/// The largest number of servers with the name of one ensemble.
const SERVERS: u32 = 99;

/// Opens a socket under the ensemble's name. If the name is taken, a number is appended, since a
/// hung up terminal cannot ask for another name.
fn free_door(ensemble: &str) -> Result<BoundSocket, PlaceError> {
    let mut found = BoundSocket::open(&ServerName::like(ensemble));
    for number in 2..=SERVERS {
        match found {
            Err(PlaceError::Taken(_)) => {}
            other => return other,
        }
        found = BoundSocket::open(&numbered_name(ensemble, number));
    }
    found
}

/// Returns the name of another server of the ensemble, such as `digits-2`.
fn numbered_name(ensemble: &str, number: u32) -> ServerName {
    // A name that is too long is cut, but not its number.
    let short: String = ensemble.chars().take(48).collect();
    ServerName::like(&format!("{short}-{number}"))
}

impl Session for ConsoleSession {
    #[expect(clippy::expect_used, reason = "it is taken when this is dropped")]
    fn snapshot(&mut self) -> Snapshot {
        #[cfg(debug_assertions)]
        if let Some(panics) = &mut self.panics {
            panics.count();
        }
        let mut shown = self
            .session
            .as_mut()
            .expect("there until dropped")
            .snapshot();
        shown.audience.may_stay = self.may_stay;
        shown
    }

    fn now(&mut self) -> Duration {
        self.session.as_mut().map_or(Duration::ZERO, Session::now)
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.session.as_mut().map_or(0, |s| s.drain_spans(into))
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        match command {
            Command::KeepServing => self.keep(),
            other => self.own()?.command(other),
        }
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        self.own()?.preview(setup)
    }

    fn what_if(&mut self, question: &WhatIf) -> Result<WhatIfReply, Refusal> {
        self.own()?.what_if(question)
    }
}

impl Drop for ConsoleSession {
    fn drop(&mut self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0.is_some() {
            kept.1 = self.session.take();
            return;
        }
        drop(kept);
        let Some(session) = self.session.take() else {
            return;
        };
        // Shutting down waits for the batches in progress; a signal ends it at once.
        let left = Instant::now();
        signals::on_end(move || {
            if left.elapsed() > signals::TOGETHER {
                std::process::exit(1);
            }
        });
        if session.inner().is_busy() {
            let text = "divisi: finishing requests in progress; Ctrl-C stops at once\n";
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Serves `session` at `door` in the background until it is stopped. `parent` is the process that
/// waits for this one.
fn go_on(session: Recorder<LiveSession>, door: BoundSocket, parent: Option<Pid>) -> Result<()> {
    let name = door.name().to_string();
    let hub = Hub::start(Box::new(session), door, log_to_stderr())?;
    let text = format!(
        "divisi: `{name}` continues to serve in the background\n  \
         divisi attach {name}    opens the console on it\n  divisi stop {name}      stops it\n"
    );
    let _ = io::stdout().write_all(text.as_bytes());
    leave_terminal(&name, parent).context("cannot leave the terminal")?;
    // Signals received by the parent before it ended were meant for the console.
    if let Some(parent) = parent {
        wait_for_end(parent);
    }
    signals::on_stop(hub.stopper());
    hub.join();
    Ok(())
}

/// Leaves the terminal and the parent, so that the shell has its prompt.
fn leave_terminal(name: &str, parent: Option<Pid>) -> Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(None)?;
    // Without a parent the terminal is already gone, and there may be no session to leave.
    if parent.is_some() {
        setsid()?;
    }
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let log = log_file(name);
    let out = log.as_ref().unwrap_or(&null);
    rustix::stdio::dup2_stdin(&null)?;
    // Output that the vanished terminal did not take must not end up in the log.
    rustix::stdio::dup2_stdout(&null)?;
    let _ = io::stdout().flush();
    rustix::stdio::dup2_stdout(out)?;
    rustix::stdio::dup2_stderr(out)?;
    if let Some(parent) = parent {
        kill_process(parent, Signal::USR1)?;
    }
    Ok(())
}

/// Waits until `parent` has ended after the handover. A stopped parent cannot end, so the wait is
/// limited.
fn wait_for_end(parent: Pid) {
    let told = Instant::now();
    while getppid() == Some(parent) && told.elapsed() < PARENT_ENDS {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The time within which a running parent ends, even on a busy machine.
const PARENT_ENDS: Duration = Duration::from_secs(10);

/// Opens the server's log file, or returns `None` if there is no folder for it.
fn log_file(name: &str) -> Option<File> {
    let folder = user_folders::state()?;
    let made = DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(&folder);
    made.ok()?;
    let mut file = OpenOptions::new();
    let file = file.create(true).append(true).mode(0o600);
    file.open(folder.join(format!("{name}.log"))).ok()
}
