//! From the command line to a session that serves, and a console on a session.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use divisi::search::Cache;
use divisi::session::record::Recorder;
use divisi::session::{Command, LiveSession, Session};

use super::args::{StartLoad, Target};
use super::open::open;
use crate::console::{self, Options};

/// A live session that can be recorded.
pub type Own = Recorder<LiveSession>;

/// Serves the ensemble, with the load to begin with.
pub fn session(
    target: &Target,
    matrix: Option<&Path>,
    load: StartLoad,
    record: Option<&Path>,
) -> Result<Own> {
    if let Some(path) = record.filter(|p| p.exists()) {
        bail!("--record {}: it exists already", path.display());
    }
    let opened = open(target)?;
    let matrix = opened.matrix(matrix)?;
    let factory = opened.networks();
    let engine = Arc::new(opened.start(&matrix, Arc::clone(&factory))?);
    let mut session = Recorder::new(LiveSession::new(engine, factory, Cache::of_user()));
    if let Some(path) = record {
        session.command(Command::StartRecording(path.to_owned()))?;
    }
    if let (StartLoad::Pattern(pattern), true) = (load, opened.ensemble.calibration.is_some()) {
        session.command(Command::StartLoad(pattern))?;
    }
    Ok(session)
}

/// Says what to run instead where there is no terminal to draw on.
pub fn need_terminal() -> Result<()> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        bail!(
            "the console needs a terminal; without one try `divisi serve`, `divisi report`, \
             `divisi check`, `divisi bench`, `divisi predict` or `divisi allocate` (see --help)"
        );
    }
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        bail!("TERM=dumb cannot draw a screen; try `divisi report` or `divisi bench`");
    }
    Ok(())
}

/// Shows a session until the user leaves.
pub fn show(session: Box<dyn Session>, read_only: bool, mouse: bool) -> Result<()> {
    let options = Options {
        read_only,
        mouse,
        title: "divisi".into(),
        layouts: Vec::new(),
        demo: None,
    };
    show_with(session, options)
}

/// Shows a session as these options say, until the user leaves.
pub fn show_with(session: Box<dyn Session>, options: Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(console::run(session, options))
}

/// What a server of the ensemble is called: its name, as far as that can be one.
pub fn server_name(ensemble: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') => c,
        _ => '-',
    };
    ensemble.chars().take(64).map(plain).collect()
}
