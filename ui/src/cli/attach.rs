//! `divisi attach`, `divisi replay` and `divisi demo`: consoles on a server, on a recording
//! and on a demonstration.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use divisi::session::remote::{self, RemoteSession, Viewer, names, path_of};
use divisi::session::replay::ReplaySession;

use super::args::{ServingTarget, StartLoad};
use super::start::{self, DisplayMode};
use crate::model::{DemoStage, Options, Wanted};

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

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// A recording
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    no_mouse: bool,
    /// Print changes as lines instead of drawing a screen
    #[arg(long)]
    linear: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// digits (this machine's devices) or simulated (imn12 on 16 simulated GPUs)
    #[arg(long, value_name = "STAGE", default_value = "digits")]
    on: DemoStage,
    /// Go on by itself at the end of each scene, and begin again after the last
    #[arg(long)]
    auto: bool,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    no_mouse: bool,
}

pub(crate) fn attach(args: &AttachArgs) -> Result<()> {
    let path = server_path(args.name.as_deref())?;
    let way = start::way(args.linear)?;
    let session = join(&path, args.read_only)?;
    let options = start::options(args.read_only, !args.no_mouse);
    start::show(Box::new(session), options, way, None)
}

pub(crate) fn replay(args: &ReplayArgs) -> Result<()> {
    let opened = ReplaySession::open(&args.file);
    let session = opened.with_context(|| args.file.display().to_string())?;
    let options = start::options(false, !args.no_mouse);
    start::show(Box::new(session), options, start::way(args.linear)?, None)
}

pub(crate) fn demo(args: &DemoArgs) -> Result<()> {
    if start::way(false)? == DisplayMode::Lines {
        bail!("the demonstration needs a terminal that can draw a screen");
    }
    let (ensemble, devices) = match args.on {
        DemoStage::Digits => ("digits", Vec::new()),
        DemoStage::Simulated => ("imn12", vec!["sim:v100*16".to_owned()]),
    };
    let target = ServingTarget {
        ensemble: ensemble.into(),
        devices,
        precision: None,
        memory: None,
    };
    let options = Options {
        demo: Some(Wanted {
            stage: args.on,
            auto: args.auto,
        }),
        ..start::options(false, !args.no_mouse)
    };
    let session = start::session(&target, None, StartLoad::None, None)?;
    start::show(Box::new(session), options, DisplayMode::Screen, None)
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
    remote::knock(&path).is_ok().then_some(path)
}

pub(crate) fn server_path(name: Option<&str>) -> Result<PathBuf> {
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
