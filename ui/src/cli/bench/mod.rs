//! `divisi bench`: how fast a matrix serves.
//!
//! Devices of this machine serve for real; where all are simulated, virtual time
//! passes instead, unless real time is asked for.

mod live;
mod report;
mod simulated;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use divisi::allocation::Matrix;
use divisi::ensemble::{Ensemble, PolicyKind};

use super::args::{BenchArgs, OutputFormat};
use super::flawed;
use super::open::{OpenedEnsemble, files, with_devices};
use super::report::{print, print_json};
use super::signals;
use report::{BenchReport, text};

pub fn run(args: &BenchArgs) -> Result<()> {
    let mut ensemble = Ensemble::read(&files(&args.target.ensemble))?;
    ensemble.policy = args.policy.unwrap_or(ensemble.policy);
    ensemble.segment_size = args.segment.unwrap_or(ensemble.segment_size);
    let opened = with_devices(ensemble, &args.target)?;
    let matrix = opened.matrix(args.matrix.as_deref())?;
    let stopped = signals::stop_flag();
    let report = measure(args, &opened, &matrix, &stopped)?;
    match args.format {
        OutputFormat::Json => print_json(&report)?,
        OutputFormat::Text => print(&text(&report, &matrix))?,
    }
    if stopped.load(Ordering::Acquire) {
        bail!("stopped before its end: these are the figures so far");
    }
    flawed::refuse(&report.flawed, 0, args.samples)
}

fn measure(
    args: &BenchArgs,
    opened: &OpenedEnsemble,
    matrix: &Matrix,
    stopped: &Arc<AtomicBool>,
) -> Result<BenchReport> {
    let elastic = matches!(opened.ensemble.policy, PolicyKind::Elastic { .. });
    if !args.max_inf.is_empty() && !elastic {
        bail!("--max-inf bounds what is alive under elastic; add --policy elastic");
    }
    if opened.devices.all_simulated() && !args.real_time && !args.fake {
        return simulated::measure(args, opened, matrix, stopped);
    }
    live::measure(args, opened, matrix, stopped)
}
