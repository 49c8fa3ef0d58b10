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
use divisi_runtime::reading;
use divisi_server::{ServeOptions, Server, StartLoad};
use divisi_session::record::RecordingReader;
use divisi_session::remote::names;
use divisi_session::replay::ReplaySession;
use divisi_session::wire::HELLO;
use divisi_session::{LatencyView, Session, Snapshot};
use serde::Serialize;

use super::args::{ServingTarget, parse_start_load};
use super::output::note;
use super::reporting::{OpenedReport, OutputFormat, Report, written_csv};
use super::tasks::NamedModels;
use super::times::parse_seconds;
use super::{near, serve, signals, start};
use crate::config;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Recording, running server, or ensemble to serve briefly
    #[command(flatten)]
    target: ServingTarget,
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

impl ReportArgs {
    /// Refuses an unknown name of a server, a recording or an ensemble.
    pub(super) fn check_target(&self) -> Result<()> {
        let servers = names().unwrap_or_default();
        near::check(
            &self.target.ensemble,
            "server, recording, ensemble",
            servers,
        )
    }
}

/// The interval between two snapshots of an ensemble served for a report.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    // Errors in the configuration are reported before anything starts.
    let format = match args.format {
        Some(format) => format,
        None => configured()?,
    };
    let output = OpenedReport::new(format, args.output.as_deref(), args.force)?;
    output.write(&shown(args)?)
}

impl Report for Snapshot {
    fn text(&self) -> String {
        text::text(self)
    }

    fn csv(&self) -> Result<String> {
        written_csv(|writer| rows(self).try_for_each(|row| writer.serialize(row)))
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
    let options = ServeOptions {
        matrix: args.matrix.clone(),
        load: args.load.clone(),
        ..ServeOptions::default()
    };
    let named = NamedModels::from_target(&args.target);
    let Server { mut session, .. } = start::server(&named, options)?;
    let until = Instant::now() + args.lasts;
    while Instant::now() < until && !stop.load(Ordering::Acquire) {
        // A snapshot also advances the session: it resumes paused load and logs notices.
        session.snapshot();
        thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
    }
    Ok(session.snapshot())
}

/// A row of the report. Cells without a measurement are empty.
#[derive(Default, Serialize)]
struct ReportRow<'a> {
    section: &'static str,
    device: &'a str,
    member: &'a str,
    batch_size: Option<usize>,
    load: Option<String>,
    fill: Option<String>,
    samples_per_s: Option<String>,
    queued: Option<usize>,
    batches: Option<u64>,
    memory_booked_bytes: Option<u64>,
    memory_bytes: Option<u64>,
    answered: Option<u64>,
    p50_us: Option<u64>,
    p90_us: Option<u64>,
    p99_us: Option<u64>,
    max_us: Option<u64>,
    recent_requests: Option<u64>,
    recent_p50_us: Option<u64>,
    recent_p99_us: Option<u64>,
    precision: Option<String>,
}

impl ReportRow<'_> {
    /// Adds the latencies since the last reload and of the last seconds.
    fn with_latency(self, view: &LatencyView) -> Self {
        let (since, now) = (&view.since.summary, &view.now.summary);
        let long = |micros| (since.count > 0).then_some(micros);
        let recent = |number| (now.count > 0).then_some(number);
        ReportRow {
            p50_us: long(since.p50),
            p90_us: long(since.p90),
            p99_us: long(since.p99),
            max_us: long(since.max),
            recent_requests: recent(now.count),
            recent_p50_us: recent(now.p50),
            recent_p99_us: recent(now.p99),
            ..self
        }
    }
}

fn rows(shown: &Snapshot) -> impl Iterator<Item = ReportRow<'_>> {
    let ensemble = ReportRow {
        section: "ensemble",
        samples_per_s: Some(format!("{:.3}", shown.throughput.samples_per_s)),
        answered: Some(shown.counters.answered),
        ..ReportRow::default()
    };
    let ensemble = ensemble.with_latency(&shown.latency);
    let devices = shown.devices.iter().map(|device| {
        // Shared memory is reported once, so that sums are correct.
        let own = |bytes| device.shares_memory_of.is_none().then_some(bytes);
        ReportRow {
            section: "device",
            device: &device.name,
            load: Some(share(device.busy)),
            memory_booked_bytes: own(device.memory_booked),
            memory_bytes: own(device.memory_bytes),
            ..ReportRow::default()
        }
    });
    let members = shown.members.iter().map(|member| {
        let row = ReportRow {
            section: "member",
            member: &member.name,
            samples_per_s: Some(format!("{:.3}", member.samples_per_s)),
            queued: Some(member.queued),
            precision: Some(member.precision.to_text()),
            ..ReportRow::default()
        };
        row.with_latency(&member.latency)
    });
    let rows = std::iter::once(ensemble).chain(devices).chain(members);
    rows.chain(workers(shown))
}

fn workers(shown: &Snapshot) -> impl Iterator<Item = ReportRow<'_>> {
    let frame = shown.matrix.frame();
    let entries = shown.matrix.cells().zip(&shown.entries);
    entries.filter_map(|(cell, entry)| {
        let row = ReportRow {
            section: "worker",
            device: &frame.devices[cell.device],
            member: &frame.members[cell.member],
            batch_size: Some(shown.matrix.get(cell)?.get()),
            load: Some(share(entry.load)),
            fill: Some(share(entry.fill)),
            queued: Some(entry.waiting),
            batches: Some(entry.batches),
            ..ReportRow::default()
        };
        Some(row.with_latency(&entry.latency))
    })
}

fn share(of: f64) -> String {
    format!("{of:.4}")
}
