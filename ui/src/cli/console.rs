//! `divisi [ENSEMBLE]`: the console on an ensemble that is serving.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use divisi::search::Cache;
use divisi::session::{Command, EditPreview, LiveSession, Refusal, Session, Setup, Snapshot};
use divisi::trace::Span;

use super::args::{Args, StartLoad};
use super::open::open;
use super::signals;
use crate::console::{self, Options};

pub fn run(args: &Args) -> Result<()> {
    let linear = linear(args)?;
    // What is wrong with it is said before anything starts.
    let settings = crate::config::load()?;
    let opened = open(&args.target)?;
    let matrix = opened.matrix(args.matrix.as_deref())?;
    let factory = opened.networks();
    let engine = Arc::new(opened.start(&matrix, Arc::clone(&factory))?);
    let mut session = LiveSession::new(engine, factory, Cache::of_user());
    if let (StartLoad::Pattern(pattern), true) =
        (args.load.clone(), opened.ensemble.calibration.is_some())
    {
        session.command(Command::StartLoad(pattern))?;
    }
    let options = Options {
        read_only: args.read_only,
        mouse: !args.no_mouse,
        title: "divisi".into(),
        layouts: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let session: Box<dyn Session> = Box::new(Parting(session));
    #[cfg(debug_assertions)]
    let session = match args.panic_for_test {
        Some(panics) => Box::new(super::fragile::Fragile::new(session, panics)),
        None => session,
    };
    if linear {
        let every = args.every.unwrap_or(settings.config.every);
        return runtime.block_on(crate::linear::run(session, options, every, &settings));
    }
    runtime.block_on(console::run(session, options))
}

/// Whether lines are wanted instead of a screen.
fn linear(args: &Args) -> Result<bool> {
    let terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if args.linear || (dumb && terminal) {
        return Ok(true);
    }
    if !terminal {
        bail!(
            "the console needs a terminal; without one try `divisi --linear` (changes as \
             lines), `divisi check`, `divisi bench`, `divisi predict` or `divisi allocate` \
             (see --help)"
        );
    }
    Ok(false)
}

/// The session, which says what it waits for once the screen is gone.
struct Parting(LiveSession);

impl Session for Parting {
    fn snapshot(&mut self) -> Snapshot {
        self.0.snapshot()
    }

    fn now(&mut self) -> Duration {
        self.0.now()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.0.drain_spans(into)
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        self.0.command(command)
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        self.0.preview(setup)
    }
}

impl Drop for Parting {
    fn drop(&mut self) {
        // Leaving takes as long as the batches under way; who will not wait need not.
        signals::on_end(|| std::process::exit(1));
        if self.0.is_busy() {
            let text = "divisi: finishing what is under way; Ctrl-C ends it at once\n";
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}
