//! See [`JobKeeper`].

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use divisi::device::{ThreadPriority, set_current_thread_priority};

use super::board::{JobBoard, PostedJob};

/// Keeps how far a job is, in a thread that leaves its core at once to whoever comes: what is kept
/// is read and checked as a whole each time, which takes longer than many queries.
pub(super) struct JobKeeper {
    orders: Sender<(PostedJob, File)>,
    kept: Receiver<KeptJobs>,
    is_busy: bool,
}

/// All jobs after one was kept.
pub(super) struct KeptJobs {
    /// Whether it was kept, or why not, in words.
    pub(super) outcome: Result<(), String>,
    /// The jobs, or none where they cannot be read.
    pub(super) jobs: Vec<PostedJob>,
}

impl JobKeeper {
    /// Begins to keep jobs on a board, until this is dropped.
    ///
    /// # Errors
    /// The thread does not start.
    pub(super) fn start(board: Arc<dyn JobBoard>) -> io::Result<Self> {
        let (orders, ordered) = channel::<(PostedJob, File)>();
        let (done, kept) = channel();
        let run = move || {
            // Where the system refuses, it is a thread like others.
            set_current_thread_priority(ThreadPriority::Idle);
            for (job, output) in ordered {
                let outcome = keep(&*board, &job, &output);
                let jobs = board.jobs().unwrap_or_default();
                if done.send(KeptJobs { outcome, jobs }).is_err() {
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

    /// Whether a job is being kept.
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Keeps how far a job is, once what is written to its output is on the disk.
    pub(super) fn keep(&mut self, job: PostedJob, output: File) {
        self.is_busy = self.orders.send((job, output)).is_ok();
    }

    /// Returns all jobs, once the one that is being kept was.
    pub(super) fn kept(&mut self) -> Option<KeptJobs> {
        let kept = self.kept.try_recv().ok()?;
        self.is_busy = false;
        Some(kept)
    }

    /// Waits until the job that is being kept was.
    pub(super) fn wait(&mut self) {
        if self.is_busy {
            // It ends only with the thread.
            let _ = self.kept.recv();
            self.is_busy = false;
        }
    }
}

fn keep(board: &dyn JobBoard, job: &PostedJob, output: &File) -> Result<(), String> {
    output.sync_data().map_err(|why| why.to_string())?;
    board.keep(job)
}
