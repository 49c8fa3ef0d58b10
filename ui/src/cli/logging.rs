//! Log events of the engine and its session on standard error (`--log`, `DIVISI_LOG`).

use std::{env, io};

use anyhow::{Context, Result};
use clap::ValueEnum;
use tracing::Level;
use tracing::level_filters::LevelFilter;

/// The log level on standard error.
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

    /// Returns the level of `tracing`.
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

/// The variable with the log level, if the command line has none.
const VARIABLE: &str = "DIVISI_LOG";

/// Starts writing events on standard error, if a level is set and no screen owns the terminal.
pub(crate) fn begin(asked: Option<LogDetail>, has_screen: bool) -> Result<()> {
    let Some(detail) = wished(asked)?.filter(|_| !has_screen) else {
        return Ok(());
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(detail.level())
        .with_ansi(false)
        .with_writer(io::stderr)
        .finish();
    // Only the first call in a process has an effect.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// Returns whether events are written on standard error.
pub(crate) fn has_begun() -> bool {
    LevelFilter::current() != LevelFilter::OFF
}

/// Returns the log level of the command line, else of `DIVISI_LOG`.
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
