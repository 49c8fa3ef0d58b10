//! `divisi serve`, `divisi servers` and `divisi stop`: servers on this machine.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use divisi::session::Session;
use divisi::session::remote::{self, BoundSocket, Hub, LogSink, ServerName, names};

use super::args::{ServingTarget, StartLoad, parse_start_load};
use super::output::print;
use super::{attach, signals, start};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    target: ServingTarget,
    /// Start with the matrix in this file instead of worst-fit decreasing
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Load to begin with, as for the console
    #[arg(long, value_name = "PATTERN", default_value = "none", value_parser = parse_start_load)]
    load: StartLoad,
    /// The server's name (default: the ensemble's name)
    #[arg(long, value_name = "NAME")]
    name: Option<ServerName>,
    /// Record all that is shown to a new FILE
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StopArgs {
    /// A server's name, or its socket's path
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn run(args: &ServeArgs) -> Result<()> {
    let (matrix, record) = (args.matrix.as_deref(), args.record.as_deref());
    let mut session = start::session(&args.target, matrix, args.load.clone(), record)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => start::server_name(&session.snapshot().ensemble),
    };
    let door = BoundSocket::open(&name)?;
    say(&format!("listening at {}", door.path().display()));
    say(&format!(
        "`divisi attach {name}` joins, `divisi stop {name}` ends it"
    ));
    let hub = Hub::start(Box::new(session), door, log_to_stderr())?;
    signals::on_end(hub.stopper());
    hub.join();
    say("stopped");
    Ok(())
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "divisi: {text}");
}

/// Returns a sink that prints log lines on standard error, with the seconds since the start.
pub(crate) fn log_to_stderr() -> LogSink {
    Box::new(|line| {
        let level = format!("{:?}", line.level).to_lowercase();
        let at = line.at.as_secs_f64();
        // Text of others must not steer a terminal.
        let text: String = line.text.chars().filter(|c| !c.is_control()).collect();
        let _ = writeln!(io::stderr(), "{at:>10.3} {level:<5} {text}");
    })
}

/// Prints the names of the servers, a line each.
pub(crate) fn list() -> Result<()> {
    let names = names()?;
    match names.is_empty() {
        true => print("no server runs; `divisi serve ENSEMBLE` starts one"),
        false => print(&names.join("\n")),
    }
}

pub(crate) fn stop(args: &StopArgs) -> Result<()> {
    let path = attach::server_path(Some(&args.name))?;
    remote::stop(&path).with_context(|| format!("stopping `{}`", args.name))?;
    print(&format!("stopped `{}`", args.name))
}
