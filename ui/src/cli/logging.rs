//! Events of the engine and of its session on standard error (`--log`, `DIVISI_LOG`).

use std::{env, io};

use anyhow::{Context, Result};
use clap::ValueEnum;
use tracing::Level;
use tracing::level_filters::LevelFilter;

/// How much is logged on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogDetail {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogDetail {
    /// Returns the level called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        <LogDetail as ValueEnum>::from_str(name, true).ok()
    }

    /// Returns the level as `tracing` has it.
    pub(crate) fn level(self) -> Level {
        match self {
            LogDetail::Error => Level::ERROR,
            LogDetail::Warn => Level::WARN,
            LogDetail::Info => Level::INFO,
            LogDetail::Debug => Level::DEBUG,
            LogDetail::Trace => Level::TRACE,
        }
    }
}

/// The variable that says how much is logged if the command line does not.
const VARIABLE: &str = "DIVISI_LOG";

/// Writes events on standard error from now on, if that is asked for and no screen owns
/// the terminal.
pub(crate) fn begin(asked: Option<LogDetail>, has_screen: bool) -> Result<()> {
    let Some(detail) = wished(asked)?.filter(|_| !has_screen) else {
        return Ok(());
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(detail.level())
        .with_ansi(false)
        .with_writer(io::stderr)
        .finish();
    // Only the first call of a process counts.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// Returns whether events are written on standard error.
pub(crate) fn has_begun() -> bool {
    LevelFilter::current() != LevelFilter::OFF
}

/// Returns how much is to be logged: by the command line, else by `DIVISI_LOG`.
fn wished(asked: Option<LogDetail>) -> Result<Option<LogDetail>> {
    let named = env::var(VARIABLE).ok().filter(|level| !level.is_empty());
    match (asked, named) {
        (Some(detail), _) => Ok(Some(detail)),
        (None, Some(level)) => LogDetail::named(&level).map(Some).with_context(|| {
            format!("{VARIABLE}: expected error, warn, info, debug or trace, found `{level}`")
        }),
        (None, None) => Ok(None),
    }
}
