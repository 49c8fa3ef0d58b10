//! `divisi report`: prints the console's contents once, for a recording, a server or an ensemble.
//! This module has the JSON and CSV forms.

mod errors;
mod tasks;
mod text;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use divisi_door::ServerOptions;
use divisi_runtime::reading;
use divisi_server::{Server, StartLoad};
use divisi_session::record::RecordingReader;
use divisi_session::replay::ReplaySession;
use divisi_session::wire::HELLO;
use divisi_session::{LatencyView, Session, Snapshot};

use super::args::{ServingTarget, parse_start_load};
use super::output::{OutputFile, note, print};
use super::reporting::OutputFormat;
use super::tasks::NamedModels;
use super::times::parse_seconds;
use super::{serve, signals, start};
use crate::config;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Recording, running server, or ensemble to serve briefly
    #[command(flatten)]
    pub(super) target: ServingTarget,
    /// Matrix to serve an ensemble with (default: worst-fit decreasing)
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Load on an ensemble
    #[arg(long, value_name = "PATTERN", default_value = "closed:8x32", value_parser = parse_start_load)]
    load: StartLoad,
    /// Seconds to serve an ensemble
    #[arg(long = "for", value_name = "SECONDS", default_value = "5s", value_parser = parse_seconds)]
    lasts: Duration,
    /// Output format (default: as configured, else text)
    #[arg(long, value_enum)]
    format: Option<OutputFormat>,
    /// Write the report to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// Whether the command line names no target.
    #[arg(skip)]
    pub(super) names_none: bool,
}

/// The interval between two snapshots of an ensemble served for a report.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    // Errors in the configuration are reported before anything starts.
    let format = match args.format {
        Some(format) => format,
        None => configured()?,
    };
    let output = args.output.as_deref();
    let output = output.map(|path| OutputFile::new(path, args.force));
    let output = output.transpose()?;
    let shown = shown(args)?;
    let written = match format {
        OutputFormat::Text => text::text(&shown),
        OutputFormat::Json => serde_json::to_string_pretty(&shown)?,
        OutputFormat::Csv => csv(&shown)?,
    };
    match output {
        Some(file) => file.write(&format!("{}\n", written.trim_end())),
        None => print(&written),
    }
}

fn configured() -> Result<OutputFormat> {
    Ok(match config::load()?.config.format {
        config::ReportFormat::Text => OutputFormat::Text,
        config::ReportFormat::Json => OutputFormat::Json,
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
    let server = match args.names_none {
        true => serve::only_one()?,
        false => target.to_str().and_then(serve::running),
    };
    if let Some(path) = server {
        return Ok(serve::join(&path, true)?.snapshot());
    }
    manifest_like(target)?;
    note(&format!(
        "divisi: no server `{}` runs: this process serves it for {} s",
        target.display(),
        args.lasts.as_secs_f64()
    ));
    served(args)
}

/// Refuses a file that is neither a manifest nor a recording, since reading a pipe would block for
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

fn served(args: &ReportArgs) -> Result<Snapshot> {
    let stop = signals::stop_flag();
    let Server { mut session, .. } = start::server(
        &NamedModels::from_target(&args.target),
        args.matrix.as_deref(),
        args.load.clone(),
        None,
        ServerOptions::default(),
    )?;
    let until = Instant::now() + args.lasts;
    while Instant::now() < until && !stop.load(Ordering::Acquire) {
        // A snapshot also advances the session: it resumes paused load and logs notices.
        session.snapshot();
        thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
    }
    Ok(session.snapshot())
}

const HEAD: [&str; 20] = [
    "section",
    "device",
    "member",
    "batch_size",
    "load",
    "fill",
    "samples_per_s",
    "queued",
    "batches",
    "memory_booked_bytes",
    "memory_bytes",
    "answered",
    "p50_us",
    "p90_us",
    "p99_us",
    "max_us",
    "recent_requests",
    "recent_p50_us",
    "recent_p99_us",
    "precision",
];

type CsvRow = [String; HEAD.len()];

/// Returns the whole report.
pub(crate) fn csv(shown: &Snapshot) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEAD)?;
    for row in rows(shown) {
        writer.write_record(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn rows(shown: &Snapshot) -> Vec<CsvRow> {
    let mut rows = vec![ensemble(shown)];
    rows.extend(shown.devices.iter().map(|d| {
        let mut row = row("device", &d.name, "");
        row[4] = share(d.busy);
        // Shared memory is reported once, so that sums are correct.
        if d.shares_memory_of.is_none() {
            row[9] = d.memory_booked.to_string();
            row[10] = d.memory_bytes.to_string();
        }
        row
    }));
    rows.extend(shown.members.iter().map(|m| {
        let mut row = row("member", "", &m.name);
        row[6] = format!("{:.3}", m.samples_per_s);
        row[7] = m.queued.to_string();
        latency(&mut row, &m.latency);
        row[19] = m.precision.to_text();
        row
    }));
    rows.extend(workers(shown));
    rows
}

fn ensemble(shown: &Snapshot) -> CsvRow {
    let mut row = row("ensemble", "", "");
    row[6] = format!("{:.3}", shown.throughput.samples_per_s);
    row[11] = shown.counters.answered.to_string();
    latency(&mut row, &shown.latency);
    row
}

fn workers(shown: &Snapshot) -> impl Iterator<Item = CsvRow> {
    let frame = shown.matrix.frame();
    let entries = shown.matrix.cells().zip(&shown.entries);
    entries.filter_map(|(cell, entry)| {
        let size = shown.matrix.get(cell)?;
        let mut row = row(
            "worker",
            &frame.devices[cell.device],
            &frame.members[cell.member],
        );
        row[3] = size.get().to_string();
        row[4] = share(entry.load);
        row[5] = share(entry.fill);
        row[7] = entry.waiting.to_string();
        row[8] = entry.batches.to_string();
        latency(&mut row, &entry.latency);
        Some(row)
    })
}

fn row(section: &str, device: &str, member: &str) -> CsvRow {
    let mut row = CsvRow::default();
    for (cell, text) in row.iter_mut().zip([section, device, member]) {
        *cell = text.to_owned();
    }
    row
}

fn share(of: f64) -> String {
    format!("{of:.4}")
}

/// Writes the latencies since the last reload and of the last seconds. Cells without a measurement
/// are empty.
fn latency(row: &mut CsvRow, view: &LatencyView) {
    let (since, now) = (&view.since.summary, &view.now.summary);
    if since.count > 0 {
        fill(
            &mut row[12..16],
            &[since.p50, since.p90, since.p99, since.max],
        );
    }
    if now.count > 0 {
        fill(&mut row[16..19], &[now.count, now.p50, now.p99]);
    }
}

fn fill(cells: &mut [String], values: &[u64]) {
    for (cell, value) in cells.iter_mut().zip(values) {
        *cell = value.to_string();
    }
}
