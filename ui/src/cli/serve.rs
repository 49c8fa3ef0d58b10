//! `divisi serve`, `divisi servers`, `divisi stop` and `divisi attach`: servers on this machine,
//! and consoles on them.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use divisi_server::{Server, StartLoad};
use divisi_session::Session;
use divisi_session::remote::{
    self, BoundSocket, Hub, LogSink, RemoteSession, ServerName, Viewer, names, path_of,
};

use divisi_door::notices::Notices;
use divisi_runtime::words::one_line;

use super::args::parse_start_load;
use super::listen::{ServerAddresses, lines};
use super::output::print;
use super::tasks::NamedModels;
use super::{logging, signals, start};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    models: NamedModels,
    /// Start with the matrix in this file, and the precisions that it names, instead of worst-fit decreasing
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
    #[command(flatten)]
    addresses: ServerAddresses,
}

pub(crate) fn run(args: &ServeArgs) -> Result<()> {
    let (matrix, record) = (args.matrix.as_deref(), args.record.as_deref());
    let load = args.load.clone();
    let addresses = args.addresses.options(Notices::to(tell))?;
    let Server { mut session, door } =
        start::server(&args.models, matrix, load, record, addresses)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => start::server_name(&session.snapshot().ensemble),
    };
    let socket = BoundSocket::open(&name)?;
    say(&format!("listening at {}", socket.path().display()));
    lines(door.addresses()).iter().for_each(|line| say(line));
    // The session alone keeps it: it ends before the engine does.
    drop(door);
    say(&format!(
        "`divisi attach {name}` joins, `divisi stop {name}` ends it"
    ));
    let hub = Hub::start(Box::new(session), socket, log_to_stderr())?;
    signals::on_end(hub.stopper());
    hub.join();
    say("stopped");
    Ok(())
}

/// Tells a notice, unless it is logged on standard error anyway.
fn tell(notice: &str) {
    if !logging::has_begun() {
        say(notice);
    }
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "divisi: {}", one_line(text));
}

/// Returns a sink that prints log lines on standard error, with the seconds since the start.
/// Where `--log` writes there, each line of the log is an event that it writes, and the sink
/// prints nothing.
pub(crate) fn log_to_stderr() -> LogSink {
    if logging::has_begun() {
        return Box::new(|_| {});
    }
    Box::new(|line| {
        let level = format!("{:?}", line.level).to_lowercase();
        let at = line.at.as_secs_f64();
        let text = one_line(&line.text);
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

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StopArgs {
    /// A server's name, or its socket's path
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn stop(args: &StopArgs) -> Result<()> {
    let path = server_path(Some(&args.name))?;
    remote::stop(&path).with_context(|| format!("stopping `{}`", args.name))?;
    print(&format!("stopped `{}`", args.name))
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AttachArgs {
    /// A server's name, or its socket's path (default: the only one that runs)
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Watch only: nothing can be changed
    #[arg(long)]
    read_only: bool,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    no_mouse: bool,
    /// Print changes as lines instead of drawing a screen
    #[arg(long)]
    linear: bool,
}

pub(crate) fn attach(args: &AttachArgs) -> Result<()> {
    let path = server_path(args.name.as_deref())?;
    let way = start::way(args.linear)?;
    let session = join(&path, args.read_only)?;
    let options = start::options(args.read_only, !args.no_mouse);
    start::show(Box::new(session), options, way, None)
}

/// Joins the server at `path`.
pub(crate) fn join(path: &std::path::Path, read_only: bool) -> Result<RemoteSession> {
    let viewer = Viewer {
        name: viewer_name(),
        read_only,
    };
    RemoteSession::join(path, viewer).with_context(|| path.display().to_string())
}

/// Returns the socket of the server called `name`, or `None` if none runs.
pub(crate) fn running(name: &str) -> Option<PathBuf> {
    let path = path_of(name).ok()?;
    remote::probe(&path).is_ok().then_some(path)
}

fn server_path(name: Option<&str>) -> Result<PathBuf> {
    if let Some(name) = name {
        path_of(name)?;
        return running(name).with_context(|| no_such(name));
    }
    let mut names = names()?;
    match (names.len(), names.pop()) {
        (1, Some(only)) => Ok(path_of(&only)?),
        (0, _) | (_, None) => bail!("no server runs; `divisi serve ENSEMBLE` starts one"),
        (_, Some(last)) => {
            names.push(last);
            bail!("several servers run, name one: {}", names.join(", "))
        }
    }
}

fn no_such(name: &str) -> String {
    let names = names().unwrap_or_default();
    match names.is_empty() {
        true => format!("no server `{name}` runs, nor any other; `divisi serve` starts one"),
        false => format!("no server `{name}` runs; there are: {}", names.join(", ")),
    }
}

/// Returns `user@terminal`, the name that other viewers see.
fn viewer_name() -> String {
    let user = std::env::var("USER").unwrap_or_else(|_| "somebody".into());
    let terminal = std::fs::read_link("/proc/self/fd/0").ok();
    let terminal = terminal.and_then(|t| Some(t.strip_prefix("/dev").ok()?.to_owned()));
    match terminal {
        Some(terminal) => format!("{user}@{}", terminal.display()),
        None => format!("{user}@{}", std::process::id()),
    }
}
