//! `divisi attach`, `divisi servers`, `divisi stop`: servers that run on this machine.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use divisi::session::remote::{self, RemoteSession, Viewer, names, path_of};

use super::args::{AttachArgs, StopArgs};
use super::report::print;
use super::start;

pub fn run(args: &AttachArgs) -> Result<()> {
    let path = path(args.name.as_deref())?;
    let way = start::way(args.linear)?;
    let session = join(&path, args.read_only)?;
    let options = start::options(args.read_only, !args.no_mouse);
    start::show(Box::new(session), options, way, None)
}

/// Lists servers, a line each.
pub fn list() -> Result<()> {
    let names = names()?;
    match names.is_empty() {
        true => print("no server runs; `divisi serve ENSEMBLE` starts one"),
        false => print(&names.join("\n")),
    }
}

pub fn stop(args: &StopArgs) -> Result<()> {
    let path = path(Some(&args.name))?;
    remote::stop(&path).with_context(|| format!("stopping `{}`", args.name))?;
    print(&format!("stopped `{}`", args.name))
}

/// A session with the server at `path`.
pub fn join(path: &std::path::Path, read_only: bool) -> Result<RemoteSession> {
    let viewer = Viewer {
        name: viewer_name(),
        read_only,
    };
    RemoteSession::join(path, viewer).with_context(|| path.display().to_string())
}

/// The socket of the server called so, if one runs.
pub fn running(name: &str) -> Option<PathBuf> {
    let path = path_of(name).ok()?;
    remote::knock(&path).is_ok().then_some(path)
}

fn path(name: Option<&str>) -> Result<PathBuf> {
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

/// `user@terminal`, as others are shown it.
fn viewer_name() -> String {
    let user = std::env::var("USER").unwrap_or_else(|_| "somebody".into());
    let terminal = std::fs::read_link("/proc/self/fd/0").ok();
    let terminal = terminal.and_then(|t| Some(t.strip_prefix("/dev").ok()?.to_owned()));
    match terminal {
        Some(terminal) => format!("{user}@{}", terminal.display()),
        None => format!("{user}@{}", std::process::id()),
    }
}
