//! A job is run by a single server: the server that has its output open.

use std::path::Path;
use std::sync::Arc;

use divisi_modelless::variants::TaskIndex;

use super::board::PostedJob;
use super::live::LiveJobs;
use super::output::{JobOutput, JobOutputError};
use super::running::JobUnderWay;

/// The outcome of an attempt to claim a job.
pub(super) enum JobClaim {
    /// This server runs the job.
    Begun(Box<JobUnderWay>),
    /// Another server runs the job, or it is over.
    Others,
    /// The job cannot run, with the reason.
    Failed(Box<PostedJob>, String),
}

/// Claims a job and reads its state after the claim.
pub(super) fn claimed(jobs: &LiveJobs, number: u64) -> JobClaim {
    let Some(before) = posted(jobs, number) else {
        return JobClaim::Others;
    };
    let output = match JobOutput::claim(Path::new(&before.record.output)) {
        Ok(output) => output,
        Err(JobOutputError::Claimed { .. }) => return JobClaim::Others,
        Err(why) => return JobClaim::Failed(Box::new(before), why.to_string()),
    };
    // Another server may have made progress before the claim.
    let Some(now) = posted(jobs, number) else {
        return JobClaim::Others;
    };
    match begun(jobs, now.clone(), output) {
        Ok(job) => JobClaim::Begun(Box::new(job)),
        Err(why) => JobClaim::Failed(Box::new(now), why),
    }
}

/// Returns a job that is not over.
fn posted(jobs: &LiveJobs, number: u64) -> Option<PostedJob> {
    let all = jobs.board().jobs().ok()?;
    let is_open = |job: &PostedJob| job.number == number && job.record.end.is_none();
    all.into_iter().find(is_open)
}

fn begun(jobs: &LiveJobs, posted: PostedJob, output: JobOutput) -> Result<JobUnderWay, String> {
    let router = jobs.scaling().router().router();
    let tasks = router.tasks();
    let task: Option<TaskIndex> = tasks.catalog().task(&posted.record.task);
    let task = task.ok_or("this server does not serve its task")?;
    let (_, ensemble) = tasks.whole(task).ok_or("its task has no variants")?;
    let samples = jobs.board().samples(&posted.record, ensemble)?;
    let width = ensemble.answers.width();
    let classes = match &ensemble.answer_names {
        Some(names) => names.clone(),
        None => (0..width).map(|class| class.to_string()).collect(),
    };
    JobUnderWay::open(posted, Arc::clone(tasks), task, samples, output, &classes)
}
