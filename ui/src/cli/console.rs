//! `divisi [ENSEMBLE]`: the console on an ensemble that is serving.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use anyhow::{Result, bail};
use divisi::search::Cache;
use divisi::session::{Command, LiveSession, Session};

use super::args::{Args, StartLoad};
use super::open::open;
use crate::console::{self, Options};

pub fn run(args: &Args) -> Result<()> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        bail!(
            "the console needs a terminal; without one try `divisi check`, `divisi bench`, \
             `divisi predict` or `divisi allocate` (see --help)"
        );
    }
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        bail!("TERM=dumb cannot draw a screen; try `divisi bench` or `divisi check`");
    }
    let opened = open(&args.target)?;
    let matrix = opened.matrix(args.matrix.as_deref())?;
    let factory = opened.networks();
    let engine = Arc::new(opened.start(&matrix, Arc::clone(&factory))?);
    let mut session = LiveSession::new(engine, factory, Cache::of_user());
    if let (StartLoad::Pattern(pattern), true) = (args.load, opened.ensemble.calibration.is_some())
    {
        session.command(Command::StartLoad(pattern))?;
    }
    let options = Options {
        read_only: args.read_only,
        mouse: !args.no_mouse,
        title: "divisi".into(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(console::run(Box::new(session), options))
}
