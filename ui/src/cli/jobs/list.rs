//! `divisi jobs`: the progress of batch jobs, and their cancellation.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use divisi_model::wall_clock::unix_seconds;
use divisi_registry::records::{JobEnd, JobRecord};
use divisi_runtime::words::{counted, one_line};
use divisi_server::{job_json, job_state};
use serde::{Serialize, Serializer};

use crate::cli::output::print;
use crate::cli::reporting::{Report, ReportOptions};
use crate::cli::store::StoreArgs;
use crate::cli::tables::lines;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JobsArgs {
    /// Cancel this job; rows already written stay
    #[arg(long, value_name = "NUMBER")]
    cancel: Option<u64>,
    /// Remove all finished jobs from the list; their outputs stay
    #[arg(long, conflicts_with = "cancel")]
    clear: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    report: ReportOptions,
}

pub(crate) fn run(args: &JobsArgs) -> Result<()> {
    if let Some(number) = args.cancel {
        return cancel(args, number);
    }
    let jobs = args.store.place().read()?.jobs;
    if args.clear {
        return clear(args, jobs.values().any(|job| job.end.is_some()));
    }
    args.report.write(&JobList(jobs))
}

/// The jobs by their numbers.
struct JobList(BTreeMap<u64, JobRecord>);

impl Serialize for JobList {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(|(number, job)| job_json(*number, job)))
    }
}

impl Report for JobList {
    fn text(&self) -> String {
        if self.0.is_empty() {
            return "no jobs; `divisi submit` queues one".to_owned();
        }
        let rows = self.0.iter().map(|(number, job)| Some(row(*number, job)));
        lines(std::iter::once(Some(HEAD.to_owned())).chain(rows))
    }
}

const HEAD: &str = "job   task          written          of rows   state       output";

fn row(number: u64, job: &JobRecord) -> String {
    let share = 100.0 * job.progress.written as f64 / job.progress.rows.max(1) as f64;
    // A reason has its own line, since it may be long.
    let reason = match &job.end {
        Some(JobEnd::Failed(why)) => format!("\n      {}", one_line(why)),
        _ => String::new(),
    };
    let variants = variants(job);
    format!(
        "{number:<5} {:<13} {:>8} ({share:>5.1} %) {:>7}   {:<11} {}{variants}{reason}",
        job.task,
        job.progress.written,
        job.progress.rows,
        job_state(job).replace('-', " "),
        job.output
    )
}

/// Returns the line with the variants of a job's rows, or nothing for a job without rows.
fn variants(job: &JobRecord) -> String {
    let each = job.variants.iter();
    let each = each.map(|variant| format!("{} ({} rows)", variant.name, variant.rows));
    match each.collect::<Vec<_>>() {
        none if none.is_empty() => String::new(),
        each => format!("\n      answered by {}", each.join(", ")),
    }
}

/// Removes the finished jobs. Without such jobs, a missing store stays missing.
fn clear(args: &JobsArgs, has_finished: bool) -> Result<()> {
    let cleared = match has_finished {
        true => {
            let cleared = args.store.place().open()?.clear_jobs();
            args.store.named(cleared)?.len()
        }
        false => 0,
    };
    let jobs = counted(cleared, "finished job");
    print(&format!("{jobs} removed; the outputs stay"))
}

/// Returns a job that has not ended.
fn open_job(mut jobs: BTreeMap<u64, JobRecord>, number: u64) -> Result<JobRecord> {
    let Some(job) = jobs.remove(&number) else {
        bail!("--cancel {number}: no such job; `divisi jobs` lists all jobs");
    };
    match &job.end {
        Some(end) => bail!("--cancel {number}: the job has ended: {}", end.words()),
        None => Ok(job),
    }
}

fn cancel(args: &JobsArgs, number: u64) -> Result<()> {
    // Reading first avoids the creation of a missing store.
    open_job(args.store.place().read()?.jobs, number)?;
    // An open store is locked. The job may have ended before that.
    let store = args.store.place().open()?;
    let mut job = open_job(args.store.named(store.contents())?.jobs, number)?;
    job.finish(JobEnd::Cancelled, unix_seconds());
    args.store.named(store.keep_job(number, &job))?;
    print(&format!(
        "job {number} is cancelled; a server that runs it stops after writing finished rows \
         (`divisi jobs` shows their number)"
    ))
}
