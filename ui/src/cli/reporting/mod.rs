//! `divisi report`: prints once what the console shows, of a recording, a server or an
//! ensemble.

mod csv;
mod text;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use divisi::reading;
use divisi::session::record::RecordingReader;
use divisi::session::replay::ReplaySession;
use divisi::session::wire::HELLO;
use divisi::session::{Session, Snapshot};

use super::args::{ReportArgs, SnapshotFormat};
use super::attach;
use super::report::{print, print_json};
use super::signals;
use super::start;
use crate::config;

/// Time between two snapshots of an ensemble that is served for a report.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    // What is wrong with it is said before anything starts.
    let format = match args.format {
        Some(format) => format,
        None => configured()?,
    };
    let shown = shown(args)?;
    match format {
        SnapshotFormat::Text => print(&text::text(&shown)),
        SnapshotFormat::Json => print_json(&shown),
        SnapshotFormat::Csv => print(&csv::csv(&shown)?),
    }
}

fn configured() -> Result<SnapshotFormat> {
    Ok(match config::load()?.config.format {
        config::ReportFormat::Text => SnapshotFormat::Text,
        config::ReportFormat::Json => SnapshotFormat::Json,
    })
}

/// Returns the end of a recording, the state of a server, or the result of a run.
fn shown(args: &ReportArgs) -> Result<Snapshot> {
    let target = &args.target.ensemble;
    if target.is_file() && RecordingReader::is_one(target) {
        let opened = ReplaySession::open(target);
        let mut session = opened.with_context(|| target.display().to_string())?;
        session.to_end();
        return Ok(session.snapshot());
    }
    let server = target.to_str().and_then(attach::running);
    if let Some(path) = server {
        return Ok(attach::join(&path, true)?.snapshot());
    }
    manifest_like(target)?;
    serve(args)
}

/// Refuses a file that is neither a manifest nor a recording: reading a pipe would wait for
/// ever.
fn manifest_like(target: &Path) -> Result<()> {
    if target.is_dir() || !target.exists() {
        return Ok(());
    }
    let file = reading::open(target).with_context(|| target.display().to_string())?;
    let length = file.metadata()?.len();
    if length < HELLO as u64 {
        let target = target.display();
        bail!("{target}: expected a recording or an ensemble's manifest, found {length} bytes");
    }
    Ok(())
}

fn serve(args: &ReportArgs) -> Result<Snapshot> {
    let stop = signals::stop_flag();
    let mut session = start::session(
        &args.target,
        args.matrix.as_deref(),
        args.load.clone(),
        None,
    )?;
    let until = Instant::now() + args.lasts;
    while Instant::now() < until && !stop.load(Ordering::Acquire) {
        // What the session does on the way: load that rests, notices that become log.
        session.snapshot();
        thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
    }
    Ok(session.snapshot())
}
