//! `divisi serve`, `divisi servers`, `divisi stop` and `divisi attach`: servers on this machine,
//! and consoles on them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use divisi_server::{ServeOptions, Server, StartLoad};
use divisi_session::Session;
use divisi_session::remote::{
    self, BoundSocket, Hub, LogSink, RemoteSession, ServerName, Viewer, names, path_of,
};

use divisi_door::notices::Notices;
use divisi_runtime::words::one_line;

use super::args::parse_start_load;
use super::listen::{ServerAddresses, address_lines};
use super::open::say;
use super::output::print;
use super::reporting::{Report, ReportOptions};
use super::start::DisplayMode;
use super::tables::lines;
use super::tasks::NamedModels;
use super::web::{WebArgs, join_at};
use super::{logging, near, signals, start, supervisor};
use crate::web::WebListener;
use serde::Serialize;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    models: NamedModels,
    /// Start with the matrix and precisions in this file (default: worst-fit decreasing)
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Initial load, as for the console
    #[arg(long, value_name = "PATTERN", default_value = "none", value_parser = parse_start_load)]
    load: StartLoad,
    /// Server name (default: the ensemble's)
    #[arg(long, value_name = "NAME")]
    name: Option<ServerName>,
    /// Record the session to a new FILE
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    addresses: ServerAddresses,
    #[command(flatten)]
    web: WebArgs,
}

impl ServeArgs {
    /// Returns the ensemble that is named.
    pub(super) fn ensemble(&self) -> &Path {
        &self.models.target.ensemble
    }
}

pub(crate) fn run(args: &ServeArgs) -> Result<()> {
    let options = ServeOptions {
        matrix: args.matrix.clone(),
        load: args.load.clone(),
        record: args.record.clone(),
        door: args.addresses.options(Notices::to(tell))?,
        ..ServeOptions::default()
    };
    // Taken first, since reading models may take long.
    let web = args.web.bind(&options.door)?;
    let Server { mut session, door } = start::server(&args.models, options)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => ServerName::like(&session.snapshot().ensemble),
    };
    let socket = BoundSocket::open(&name)?;
    say(&[format!("listening at {}", socket.path().display())]);
    say(&address_lines(door.addresses()));
    say(web_line(web.as_ref()).as_slice());
    // Only the session keeps the door, since the door must end before the engine.
    drop(door);
    say(&[format!(
        "`divisi attach {name}` opens the console, `divisi stop {name}` stops the server"
    )]);
    let hub = Hub::start(Box::new(session), socket, log_to_stderr())?;
    let pages = web.map(|web| web.serve(join_at(hub.path().to_owned())));
    let pages = pages.transpose()?;
    signals::on_end(hub.stopper());
    supervisor::ready()?;
    hub.join();
    drop(pages);
    supervisor::stopping()?;
    say(&["stopped"]);
    Ok(())
}

/// Returns the line about the browser console, if there is one.
fn web_line(web: Option<&WebListener>) -> Option<String> {
    web.map(|web| format!("browser console at {}", web.url()))
}

/// Prints a notice, unless the log on standard error already has it.
fn tell(notice: &str) {
    if !logging::has_begun() {
        say(&[notice]);
    }
}

/// Returns a sink that prints log lines on standard error, with the seconds since the start. With
/// `--log` the sink prints nothing, since each line is already written as an event.
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

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServersArgs {
    #[command(flatten)]
    report: ReportOptions,
}

/// A server in the list.
#[derive(Serialize)]
struct ServerRow {
    name: String,
}

/// Prints the names of the servers, one per line.
pub(crate) fn list(args: &ServersArgs) -> Result<()> {
    let rows = names()?.into_iter().map(|name| ServerRow { name });
    args.report.write(&rows.collect::<Vec<_>>())
}

impl Report for Vec<ServerRow> {
    fn text(&self) -> String {
        match self.is_empty() {
            true => NO_SERVER.to_owned(),
            false => lines(self.iter().map(|row| Some(row.name.clone()))),
        }
    }
}

const NO_SERVER: &str = "no server is running; `divisi serve ENSEMBLE` starts one";

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StopArgs {
    /// Server name, or path of its socket
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn stop(args: &StopArgs) -> Result<()> {
    let name = chosen_name(args.name.as_deref())?;
    let path = path_of(&name)?;
    remote::stop(&path).with_context(|| format!("stopping `{name}`"))?;
    print(&format!("stopped `{name}`"))
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AttachArgs {
    /// Server name, or path of its socket (default: the only running server)
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Watch only, without changing anything
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
    let session = match way {
        DisplayMode::Screen => join(&path, args.read_only)?.returning(),
        DisplayMode::Lines => join(&path, args.read_only)?,
    };
    let options = start::options(args.read_only, !args.no_mouse);
    start::show(Box::new(session), options, way, None)
}

/// Attaches to the server at `path`.
pub(crate) fn join(path: &Path, read_only: bool) -> Result<RemoteSession> {
    let viewer = Viewer {
        name: viewer_name(),
        read_only,
    };
    RemoteSession::join(path, viewer).with_context(|| path.display().to_string())
}

/// Returns the socket of the server `name`, or `None` if it is not running.
pub(crate) fn running(name: &str) -> Option<PathBuf> {
    let path = path_of(name).ok()?;
    remote::probe(&path).is_ok().then_some(path)
}

/// Returns the socket of the only running server, or `None` if no server is running.
///
/// # Errors
/// Several servers are running.
pub(crate) fn only_one() -> Result<Option<PathBuf>> {
    match names()?.is_empty() {
        true => Ok(None),
        false => server_path(None).map(Some),
    }
}

/// Returns the name of a running server: `name`, or the only one.
///
/// # Errors
/// No server of that name is running; without a name, none or several are.
fn chosen_name(name: Option<&str>) -> Result<String> {
    if let Some(name) = name {
        path_of(name)?;
        running(name).with_context(|| no_such(name))?;
        return Ok(name.to_owned());
    }
    match &names()?[..] {
        [only] => Ok(only.clone()),
        [] => bail!(NO_SERVER),
        several => bail!(
            "{} servers are running; name one: {}",
            several.len(),
            several.join(", ")
        ),
    }
}

fn server_path(name: Option<&str>) -> Result<PathBuf> {
    Ok(path_of(&chosen_name(name)?)?)
}

fn no_such(name: &str) -> String {
    let names = names().unwrap_or_default();
    if names.is_empty() {
        return format!("no server `{name}`: no server is running; `divisi serve` starts one");
    }
    let meant = near::in_words(name, &names);
    format!("no server `{name}`{meant}; running: {}", names.join(", "))
}

/// Returns `user@terminal`, the name shown to other viewers.
fn viewer_name() -> String {
    let user = std::env::var("USER").unwrap_or_else(|_| "somebody".into());
    let terminal = std::fs::read_link("/proc/self/fd/0").ok();
    let terminal = terminal.and_then(|t| Some(t.strip_prefix("/dev").ok()?.to_owned()));
    match terminal {
        Some(terminal) => format!("{user}@{}", terminal.display()),
        None => format!("{user}@{}", std::process::id()),
    }
}
