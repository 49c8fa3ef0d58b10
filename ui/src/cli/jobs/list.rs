//! `divisi jobs`: how far jobs are; one is taken back.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use divisi_registry::records::{JobEnd, JobRecord};
use divisi_runtime::words::one_line;
use divisi_server::{job_json, job_state};
use serde_json::Value;

use crate::cli::args::OutputFormat;
use crate::cli::output::{print, print_json};
use crate::cli::store::StoreArgs;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JobsArgs {
    /// Take this job back: what it has written stays
    #[arg(long, value_name = "NUMBER")]
    cancel: Option<u64>,
    #[command(flatten)]
    store: StoreArgs,
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

pub(crate) fn run(args: &JobsArgs) -> Result<()> {
    if let Some(number) = args.cancel {
        return cancel(args, number);
    }
    let jobs = args.store.place().read()?.jobs;
    if args.format == OutputFormat::Json {
        let all: Vec<Value> = jobs.iter().map(|(n, job)| job_json(*n, job)).collect();
        return print_json(&all);
    }
    if jobs.is_empty() {
        return print("no jobs; `divisi submit` hands one over");
    }
    let rows = jobs.iter().map(|(number, job)| row(*number, job));
    let lines: Vec<String> = rows.collect();
    print(&format!("{HEAD}\n{}", lines.join("\n")))
}

const HEAD: &str = "job   task          written          of rows   state       output";

fn row(number: u64, job: &JobRecord) -> String {
    let share = 100.0 * job.progress.written as f64 / job.progress.rows.max(1) as f64;
    // A reason is a line of its own: it may be long.
    let reason = match &job.end {
        Some(JobEnd::Failed(why)) => format!("\n      {}", one_line(why)),
        _ => String::new(),
    };
    format!(
        "{number:<5} {:<13} {:>8} ({share:>5.1} %) {:>7}   {:<11} {}{reason}",
        job.task,
        job.progress.written,
        job.progress.rows,
        job_state(job).replace('-', " "),
        job.output
    )
}

/// Returns a job that is not over.
fn open_job(mut jobs: BTreeMap<u64, JobRecord>, number: u64) -> Result<JobRecord> {
    let Some(job) = jobs.remove(&number) else {
        bail!("--cancel {number}: there is no such job; `divisi jobs` lists them");
    };
    match &job.end {
        Some(end) => bail!("--cancel {number}: the job is over: {}", end.words()),
        None => Ok(job),
    }
}

fn cancel(args: &JobsArgs, number: u64) -> Result<()> {
    // A store that is not there is not made to be told so.
    open_job(args.store.place().read()?.jobs, number)?;
    // Nobody else writes it while it is open: the job may have ended since.
    let store = args.store.place().open()?;
    let jobs = store
        .contents()
        .with_context(|| args.store.place().name())?
        .jobs;
    let mut job = open_job(jobs, number)?;
    job.end = Some(JobEnd::Cancelled);
    let kept = store.keep_job(number, &job);
    kept.with_context(|| args.store.place().name())?;
    print(&format!(
        "job {number} is cancelled; a server that runs it writes what it has answered, and stops: \
         `divisi jobs` tells how many rows"
    ))
}
