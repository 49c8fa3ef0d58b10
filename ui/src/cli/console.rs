//! `divisi [ENSEMBLE]`: the console on an ensemble that is serving, and its engine, which may go
//! on in the background.
//!
//! The console runs in a child of a thin parent. When it hands its engine over, the
//! parent ends, so that the shell has its prompt; the child, the same process that
//! served before, leaves the terminal and serves at its socket.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use divisi_model::codes::Code;
use divisi_model::trace::Span;
use divisi_model::user_folders;
use divisi_server::{Server, StartLoad};
use divisi_session::record::Recorder;
use divisi_session::remote::{BoundSocket, Hub, PlaceError};
use divisi_session::{Command, EditPreview, LiveSession, Refusal, Session, Setup, Snapshot};
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
    /// Start with the matrix in this file, and the precisions that it names, instead of worst-fit decreasing
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Load to begin with: closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE, burst[:RATE], none,
    /// or usual: poisson:200, and on cores at most about half of what they serve
    #[arg(long, value_name = "PATTERN", default_value = "usual", value_parser = parse_start_load)]
    load: StartLoad,
    /// Record all that is shown to a new FILE, to be played by `divisi replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Watch only: nothing can be changed
    #[arg(long)]
    read_only: bool,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    no_mouse: bool,
    /// No screen: changes as lines, for screen readers and logs; commands are read as
    /// lines (also where TERM is dumb)
    #[arg(long)]
    pub(super) linear: bool,
    /// Between summaries in linear mode, such as 5s (default: as configured)
    #[arg(long, value_name = "TIME", value_parser = time)]
    every: Option<Duration>,
    #[command(flatten)]
    addresses: ConsoleAddresses,
    /// Panic after a while, on the console's thread or another
    #[cfg(debug_assertions)]
    #[arg(long, hide = true, value_enum)]
    panic_for_test: Option<super::fragile::PanicPlace>,
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
    // What is wrong with it is said before anything starts.
    crate::config::load()?;
    let (matrix, record) = (args.matrix.as_deref(), args.record.as_deref());
    let load = args.load.clone();
    let addresses = args.addresses.options(Notices::default())?;
    let Server { session, .. } = start::server(&args.models, matrix, load, record, addresses)?;
    let kept = KeptServing::default();
    let parting = ConsoleSession {
        session: Some(session),
        may_stay: parent.is_some() && !args.read_only,
        kept: Arc::clone(&kept),
    };
    let session: Box<dyn Session> = Box::new(parting);
    #[cfg(debug_assertions)]
    let session = match args.panic_for_test {
        Some(panics) => Box::new(super::fragile::PanickingSession::new(session, panics)),
        None => session,
    };
    let options = start::options(args.read_only, !args.no_mouse);
    start::show(session, options, way, args.every)?;
    let left = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
    match left {
        (Some(door), Some(session)) => go_on(session, door, parent),
        _ => Ok(()),
    }
}

/// The part that outlives the console: a socket to serve at, and the session.
type KeptServing = Arc<Mutex<(Option<BoundSocket>, Option<Recorder<LiveSession>>)>>;

/// The session of the console. At the end it is handed over if that was asked for;
/// otherwise it is shut down, and a message says what is still under way.
struct ConsoleSession {
    session: Option<Recorder<LiveSession>>,
    /// Whether the console may offer to hand it over.
    may_stay: bool,
    kept: KeptServing,
}

impl ConsoleSession {
    fn own(&mut self) -> Result<&mut Recorder<LiveSession>, Refusal> {
        let gone = || Refusal::new(Code::ServerGone, "the session is gone");
        self.session.as_mut().ok_or_else(gone)
    }

    /// Opens the socket now, so that the console shows any error.
    fn keep(&mut self) -> Result<(), Refusal> {
        let own = self.own()?;
        let wanted = own.snapshot().ensemble;
        let door =
            free_door(&wanted).map_err(|e| Refusal::new(Code::NotLeftRunning, e.to_string()))?;
        if *door.name() != start::server_name(&wanted) {
            let name = door.name();
            let text = format!("another server is named `{wanted}`: this one is `{name}`");
            own.inner().warn(&text);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0 = Some(door);
        Ok(())
    }
}

/// The most servers of one ensemble that get a name.
const SERVERS: u32 = 99;

/// Opens a socket under the ensemble's name. If that is taken, a number is appended: there
/// may be nobody to ask for another name.
fn free_door(ensemble: &str) -> Result<BoundSocket, PlaceError> {
    let mut found = BoundSocket::open(&start::server_name(ensemble));
    for number in 2..=SERVERS {
        match found {
            Err(PlaceError::Taken(_)) => {}
            other => return other,
        }
        found = BoundSocket::open(&start::numbered_name(ensemble, number));
    }
    found
}

impl Session for ConsoleSession {
    #[expect(clippy::expect_used, reason = "it is taken when this is dropped")]
    fn snapshot(&mut self) -> Snapshot {
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
        // Leaving takes as long as the batches under way; who will not wait need not.
        let left = Instant::now();
        signals::on_end(move || {
            if left.elapsed() > signals::TOGETHER {
                std::process::exit(1);
            }
        });
        if session.inner().is_busy() {
            let text = "divisi: finishing what is under way; Ctrl-C ends it at once\n";
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Serves `session` at `door` in the background until it is stopped. `parent` is the
/// process that waits for this one.
fn go_on(session: Recorder<LiveSession>, door: BoundSocket, parent: Option<Pid>) -> Result<()> {
    let name = door.name().to_string();
    let hub = Hub::start(Box::new(session), door, log_to_stderr())?;
    let text = format!(
        "divisi: `{name}` goes on serving in the background\n  \
         divisi attach {name}    joins it\n  divisi stop {name}      ends it\n"
    );
    let _ = io::stdout().write_all(text.as_bytes());
    leave_terminal(&name, parent).context("cannot leave the terminal")?;
    // What the parent heard before it ended was meant for the console that is gone.
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
    // Without a parent the terminal is gone already, and there may be no session to leave.
    if parent.is_some() {
        setsid()?;
    }
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let log = log_file(name);
    let out = log.as_ref().unwrap_or(&null);
    rustix::stdio::dup2_stdin(&null)?;
    // What a terminal that went away did not take any more is no line of the log.
    rustix::stdio::dup2_stdout(&null)?;
    let _ = io::stdout().flush();
    rustix::stdio::dup2_stdout(out)?;
    rustix::stdio::dup2_stderr(out)?;
    if let Some(parent) = parent {
        kill_process(parent, Signal::USR1)?;
    }
    Ok(())
}

/// Waits until `parent` has ended, as it does once it is told that the engine goes on. One
/// that is stopped cannot end, and is not waited for long.
fn wait_for_end(parent: Pid) {
    let told = Instant::now();
    while getppid() == Some(parent) && told.elapsed() < PARENT_ENDS {
        thread::sleep(Duration::from_millis(1));
    }
}

/// A parent that may run ends within this, on a busy machine too.
const PARENT_ENDS: Duration = Duration::from_secs(10);

/// Opens the server's log file, or returns `None` if there is no place for it.
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
