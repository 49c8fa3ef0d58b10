//! Saves the progress of jobs: see [`JobKeeper`].

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use divisi_runtime::device::{ThreadPriority, set_current_thread_priority};

use super::board::{JobBoard, PostedJob};
use super::running::KeptProgress;

/// Saves the progress of jobs in a thread that yields its core to all other threads: each save
/// reads and checks the whole store, which takes longer than many queries.
pub(super) struct JobKeeper {
    orders: Sender<(PostedJob, File)>,
    kept: Receiver<KeptJobs>,
    is_busy: bool,
}

/// All jobs after a save.
pub(super) struct KeptJobs {
    /// The saved progress, if it is on the disk.
    pub(super) on_disk: Option<KeptProgress>,
    /// The result of the save.
    pub(super) outcome: Result<(), NotKept>,
    /// The jobs, or `None` if they cannot be read.
    pub(super) jobs: Option<Vec<PostedJob>>,
}

/// The reasons why progress is not saved.
pub(super) enum NotKept {
    /// Written rows may not be on the disk. The system reports this only once, so a retry would not
    /// show it.
    Output(String),
    /// The job store does not accept the save.
    Store(String),
}

impl JobKeeper {
    /// Starts a thread that saves jobs to a board until this is dropped.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub(super) fn start(board: Arc<dyn JobBoard>) -> io::Result<Self> {
        let (orders, ordered) = channel::<(PostedJob, File)>();
        let (done, kept) = channel();
        let run = move || {
            // If the system refuses, the thread keeps its priority.
            set_current_thread_priority(ThreadPriority::Idle);
            for (job, output) in ordered {
                let outcome = keep(&*board, &job, &output);
                let is_lost = matches!(outcome, Err(NotKept::Output(_)));
                let kept = KeptJobs {
                    on_disk: (!is_lost).then(|| KeptProgress::of(&job.record)),
                    outcome,
                    jobs: board.jobs().ok(),
                };
                if done.send(kept).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("job progress".into())
            .spawn(run)?;
        Ok(JobKeeper {
            orders,
            kept,
            is_busy: false,
        })
    }

    /// Returns whether a save is running.
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Saves the progress of a job once its output is on the disk.
    pub(super) fn keep(&mut self, job: PostedJob, output: File) {
        self.is_busy = self.orders.send((job, output)).is_ok();
    }

    /// Returns all jobs if a save has finished.
    pub(super) fn saved(&mut self) -> Option<KeptJobs> {
        let kept = self.kept.try_recv().ok()?;
        self.is_busy = false;
        Some(kept)
    }

    /// Waits for the running save, if there is one, and returns all jobs.
    pub(super) fn wait(&mut self) -> Option<KeptJobs> {
        // The channel closes only with the thread.
        let kept = std::mem::take(&mut self.is_busy).then(|| self.kept.recv().ok());
        kept.flatten()
    }
}

fn keep(board: &dyn JobBoard, job: &PostedJob, output: &File) -> Result<(), NotKept> {
    let synced = output.sync_data();
    synced.map_err(|why| NotKept::Output(format!("{}: {why}", job.record.output)))?;
    board.keep(job).map_err(NotKept::Store)
}

#[cfg(test)]
#[path = "../../../tests/tasks/units/jobs/keeper.rs"]
mod tests;
