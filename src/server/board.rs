//! The job board over the store's jobs.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use divisi_door::client::Webhook;
use divisi_model::ensemble::{Ensemble, Samples};
use divisi_registry::records::{JobEnd, JobRecord};
use divisi_registry::store::{PATIENCE, StoreError};
use divisi_tasks::jobs::{JobBoard, PostedJob};

use serde_json::{Value, json};

use crate::watch::StoreWatch;

/// The jobs of a store.
pub struct StoredJobs(Arc<StoreWatch>);

impl StoredJobs {
    pub(crate) fn watching(watch: &Arc<StoreWatch>) -> Self {
        StoredJobs(Arc::clone(watch))
    }
}

impl JobBoard for StoredJobs {
    fn jobs(&self) -> Result<Vec<PostedJob>, String> {
        let contents = self.0.contents(PATIENCE).map_err(|why| why.to_string())?;
        let jobs = contents.jobs.iter().map(|(number, record)| PostedJob {
            number: *number,
            record: record.clone(),
        });
        Ok(jobs.collect())
    }

    fn samples(&self, record: &JobRecord, ensemble: &Ensemble) -> Result<Arc<Samples>, String> {
        let read = Samples::read(record.input.as_ref(), &ensemble.sample_form());
        let read = read.map_err(|why| format!("{}: {why}", record.input));
        read.map(Arc::new)
    }

    /// Stores the progress of a job. A job cancelled in the meantime stays cancelled, and a job
    /// removed after that stays removed.
    fn keep(&self, job: &PostedJob) -> Result<(), String> {
        let store = self.0.store().open().map_err(|why| why.to_string())?;
        let keep = || {
            let Some(known) = store.contents()?.jobs.remove(&job.number) else {
                return Ok(());
            };
            let mut record = job.record.clone();
            if known.end == Some(JobEnd::Cancelled) {
                (record.end, record.ended_at) = (known.end, known.ended_at);
            }
            store.keep_job(job.number, &record)
        };
        keep().map_err(|why: StoreError| why.to_string())
    }

    fn tell(&self, job: &PostedJob, failed: Box<dyn FnOnce(String) + Send>) {
        let Some(whom) = job.record.notify.clone() else {
            return;
        };
        let (text, number) = (job_json(job.number, &job.record).to_string(), job.number);
        let run = move || {
            let told = match whom.parse::<Webhook>() {
                Ok(webhook) => webhook.post(&text),
                Err(_) => command(&whom, &text),
            };
            if let Err(why) = told {
                failed(why.to_string());
            }
        };
        // The notification may take long.
        let spawned = thread::Builder::new().name("notify".into()).spawn(run);
        if let Err(why) = spawned {
            tracing::warn!(number, %why, "job notification failed: cannot start a thread");
        }
    }
}

/// Runs a shell command with a text on its standard input.
fn command(command: &str, text: &str) -> io::Result<()> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        // A console may use the terminal.
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // The command need not read its input.
        let _ = input.write_all(text.as_bytes());
    }
    let ended = child.wait()?;
    match ended.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("`{command}`: {ended}"))),
    }
}

/// Returns the state of a job for programs: `done`, `failed`, `cancelled`, `waits` or `under-way`.
pub fn job_state(job: &JobRecord) -> &'static str {
    match (&job.end, job.progress.written) {
        (Some(JobEnd::Done), _) => "done",
        (Some(JobEnd::Failed(_)), _) => "failed",
        (Some(JobEnd::Cancelled), _) => "cancelled",
        (None, 0) => "waits",
        (None, _) => "under-way",
    }
}

/// Returns a job as JSON, for programs.
pub fn job_json(number: u64, job: &JobRecord) -> Value {
    let reason = match &job.end {
        Some(JobEnd::Failed(why)) => Some(why),
        _ => None,
    };
    json!({
        "job": number,
        "task": job.task,
        "input": job.input,
        "output": job.output,
        "rows": job.progress.rows,
        "written": job.progress.written,
        "state": job_state(job),
        "reason": reason,
        "variants": job.variants,
        "submitted_at": job.submitted_at,
        "ended_at": job.ended_at,
    })
}
