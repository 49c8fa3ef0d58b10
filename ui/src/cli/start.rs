//! Starts a serving session and a console on a session. Also `divisi replay` and `divisi demo`,
//! which do only that.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use divisi_server::{DeviceChoice, ServeOptions, Server, StartLoad};
use divisi_session::Session;
use divisi_session::replay::ReplaySession;

use super::args::ServingTarget;
use super::goals::LoadGoals;
use super::register;
use super::store::StoreArgs;
use super::tasks::{NamedModels, TaskArgs};
use crate::console;
use crate::model::{DemoStage, Options, Wanted};

/// Serves the models and starts the initial load.
///
/// `options` holds no mix and no options of tasks, since those belong to the models.
pub(crate) fn server(named: &NamedModels, options: ServeOptions) -> Result<Server> {
    let options = ServeOptions {
        mix: named.more.mix.clone(),
        tasks: named.task_options(),
        ..options
    };
    // Checked first, since reading models may take long.
    options.check()?;
    let named = NamedModels {
        target: named.target.for_matrix(options.matrix.as_deref()),
        ..named.clone()
    };
    Ok(Server::start(named.read()?, options)?)
}

/// The display of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DisplayMode {
    Screen,
    /// Changes as lines, for screen readers and logs.
    Lines,
}

/// Returns `Screen` on a terminal that can draw one, and `Lines` if `linear` is set or the terminal
/// has no other way.
///
/// # Errors
/// There is no terminal. The error names commands that need none.
pub(crate) fn way(linear: bool) -> Result<DisplayMode> {
    let terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    match (linear || (dumb && terminal), terminal) {
        (true, _) => Ok(DisplayMode::Lines),
        (false, true) => Ok(DisplayMode::Screen),
        (false, false) => bail!(
            "the console needs a terminal; without one try `divisi --linear` (changes as \
             lines), `divisi serve`, `divisi report`, `divisi check`, `divisi bench`, \
             `divisi predict` or `divisi allocate` (see --help)"
        ),
    }
}

/// Returns the initial options of a console.
pub(crate) fn options(read_only: bool, mouse: bool) -> Options {
    Options {
        read_only,
        mouse,
        title: "divisi".into(),
        layouts: Vec::new(),
        demo: None,
    }
}

/// Shows a session until the user quits. Linear mode prints at most one summary each `every`.
pub(crate) fn show(
    session: Box<dyn Session>,
    options: Options,
    way: DisplayMode,
    every: Option<Duration>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match way {
        DisplayMode::Screen => runtime.block_on(console::run(session, options)),
        DisplayMode::Lines => {
            let settings = crate::config::load()?;
            let every = every.unwrap_or(settings.config.every);
            runtime.block_on(crate::linear::run(session, options, every, &settings))
        }
    }
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Recording to play
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    no_mouse: bool,
    /// Print changes as lines instead of drawing a screen
    #[arg(long)]
    linear: bool,
}

pub(crate) fn replay(args: &ReplayArgs) -> Result<()> {
    let opened = ReplaySession::open(&args.file);
    let session = opened.with_context(|| args.file.display().to_string())?;
    let options = options(false, !args.no_mouse);
    show(Box::new(session), options, way(args.linear)?, None)
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Subject: digits (on this machine), simulated (imn12 on 16 simulated GPUs) or tasks (digits
    /// by goals, on this machine)
    #[arg(long, value_name = "STAGE", default_value = "digits")]
    on: DemoStage,
    /// Play all scenes without keys, and start over after the last
    #[arg(long)]
    auto: bool,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    no_mouse: bool,
}

pub(crate) fn demo(args: &DemoArgs) -> Result<()> {
    if way(false)? == DisplayMode::Lines {
        bail!("the demonstration needs a terminal that can draw a screen");
    }
    // The store of registered tasks must outlive the demonstration.
    let store = tempfile::tempdir().context("creating a folder for the registered task")?;
    let named = match args.on {
        DemoStage::Digits => {
            // The scenes need several devices, however busy the host is.
            let found = DeviceChoice::default().find_for_variants(&[])?;
            NamedModels::from_target(&target("digits", found.devices.names()))
        }
        DemoStage::Simulated => {
            NamedModels::from_target(&target("imn12", vec!["sim:v100*16".to_owned()]))
        }
        DemoStage::Tasks => registered(store.path())?,
    };
    let options = Options {
        demo: Some(Wanted {
            stage: args.on,
            auto: args.auto,
        }),
        ..options(false, !args.no_mouse)
    };
    let serving = ServeOptions {
        load: StartLoad::None,
        ..ServeOptions::default()
    };
    let Server { session, .. } = server(&named, serving)?;
    show(Box::new(session), options, DisplayMode::Screen, None)
}

fn target(ensemble: &str, devices: Vec<String>) -> ServingTarget {
    ServingTarget {
        ensemble: ensemble.into(),
        devices,
        ..ServingTarget::default()
    }
}

/// Registers the built-in ensemble in a temporary store, as a task whose load has goals.
fn registered(folder: &Path) -> Result<NamedModels> {
    let (target, store) = (target("digits", Vec::new()), StoreArgs::at(folder));
    register::sample("digits", &target, &store)?;
    let goals = ["98.5%/20ms", "95%/10ms", "99.4%"];
    Ok(NamedModels {
        tasks: TaskArgs::one_task("digits", &store),
        goals: LoadGoals::parse(&goals).map_err(|why| anyhow!(why))?,
        ..NamedModels::from_target(&target)
    })
}
