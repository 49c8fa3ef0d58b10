//! `divisi [ENSEMBLE]`: the console on an ensemble that is serving.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use divisi::codes::Code;
use divisi::session::remote::{BoundSocket, PlaceError};
use divisi::session::{Command, EditPreview, Refusal, Session, Setup, Snapshot};
use divisi::trace::Span;

use super::args::CommandLine;
use super::background;
use super::signals;
use super::start::{self, DisplayMode, OwnSession};

pub(crate) fn run(args: &CommandLine) -> Result<()> {
    let way = start::way(args.linear)?;
    let parent = background::parent();
    let screen = way == DisplayMode::Screen;
    if screen
        && parent.is_none()
        && let Some(code) = background::run_in_child()
    {
        std::process::exit(code);
    }
    // What is wrong with it is said before anything starts.
    crate::config::load()?;
    let (matrix, record) = (args.matrix.as_deref(), args.record.as_deref());
    let session = start::session(&args.target, matrix, args.load.clone(), record)?;
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
        (Some(door), Some(session)) => background::go_on(session, door, parent),
        _ => Ok(()),
    }
}

/// The part that outlives the console: a socket to serve at, and the session.
type KeptServing = Arc<Mutex<(Option<BoundSocket>, Option<OwnSession>)>>;

/// The session of the console. At the end it is handed over if that was asked for;
/// otherwise it is shut down, and a message says what is still under way.
struct ConsoleSession {
    session: Option<OwnSession>,
    /// Whether the console may offer to hand it over.
    may_stay: bool,
    kept: KeptServing,
}

impl ConsoleSession {
    fn own(&mut self) -> Result<&mut OwnSession, Refusal> {
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
