//! Unit tests of `src/tasks/jobs/keeper.rs`.

use divisi_model::ensemble::{Ensemble, Samples};
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::jobs::JobProgress;
use divisi_registry::records::JobRecord;

use super::*;

/// A board that accepts everything and cannot be read.
struct Unread;

impl JobBoard for Unread {
    fn jobs(&self) -> Result<Vec<PostedJob>, String> {
        Err("unread".to_owned())
    }

    fn samples(&self, _: &JobRecord, _: &Ensemble) -> Result<Arc<Samples>, String> {
        Err("none".to_owned())
    }

    fn keep(&self, _: &PostedJob) -> Result<(), String> {
        Ok(())
    }

    fn tell(&self, _: &PostedJob, _: Box<dyn FnOnce(String) + Send>) {}
}

fn posted(written: u64) -> PostedJob {
    let record = JobRecord {
        task: "digits".to_owned(),
        input: "in.csv".to_owned(),
        output: "out.csv".to_owned(),
        goals: QueryGoals::default(),
        progress: JobProgress { rows: 9, written },
        submitted_at: 0,
        notify: None,
        names_variants: false,
        variants: Vec::new(),
        end: None,
        ended_at: None,
    };
    PostedJob { number: 1, record }
}

fn kept(output: File) -> io::Result<KeptJobs> {
    let mut keeper = JobKeeper::start(Arc::new(Unread))?;
    keeper.keep(posted(7), output);
    keeper
        .wait()
        .ok_or_else(|| io::Error::other("it was not kept"))
}

#[test]
fn it_is_told_how_far_a_job_is_on_the_disk_even_where_others_cannot_be_read() -> io::Result<()> {
    let kept = kept(tempfile::tempfile()?)?;
    assert!(kept.outcome.is_ok());
    assert_eq!(kept.on_disk.map(|kept| kept.progress.written), Some(7));
    assert!(kept.jobs.is_none());
    Ok(())
}

#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_on_the_disk_is_not_kept() -> io::Result<()> {
    // A pipe cannot be synced to a disk.
    let (_reader, writer) = io::pipe()?;
    let kept = kept(File::from(std::os::fd::OwnedFd::from(writer)))?;
    assert!(matches!(kept.outcome, Err(NotKept::Output(why)) if why.starts_with("out.csv: ")));
    Ok(())
}
