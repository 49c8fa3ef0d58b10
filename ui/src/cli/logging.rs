//! Log events of the engine and its session on standard error (`--log`, `DIVISI_LOG`).

use std::{env, io};

use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tracing::Level;
use tracing::level_filters::LevelFilter;

/// The names of the log levels.
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Parses a log level, with its names for completions.
pub(crate) fn parse_level() -> impl TypedValueParser<Value = Level> {
    PossibleValuesParser::new(LEVELS).try_map(|name| name.parse::<Level>())
}

/// Returns the level called `name`.
fn level_named(name: &str) -> Option<Level> {
    let is_known = LEVELS.iter().any(|level| name.eq_ignore_ascii_case(level));
    name.parse().ok().filter(|_| is_known)
}

/// The variable with the log level, if the command line has none.
const VARIABLE: &str = "DIVISI_LOG";

/// Starts writing events on standard error, if a level is set and no screen owns the terminal.
pub(crate) fn begin(asked: Option<Level>, has_screen: bool) -> Result<()> {
    let Some(level) = wished(asked)?.filter(|_| !has_screen) else {
        return Ok(());
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
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
fn wished(asked: Option<Level>) -> Result<Option<Level>> {
    let named = env::var(VARIABLE).ok().filter(|level| !level.is_empty());
    match (asked, named) {
        (Some(level), _) => Ok(Some(level)),
        (None, Some(level)) => level_named(&level).map(Some).with_context(|| {
            format!("{VARIABLE}: expected error, warn, info, debug or trace, found `{level}`")
        }),
        (None, None) => Ok(None),
    }
}
