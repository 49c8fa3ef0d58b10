//! A running job: its samples, its requests, and the answers that wait to be written.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use divisi_engine::serving::{Accounting, Engine, Outcome, PipelineIndex, Refused, Request};
use divisi_model::ensemble::Samples;
use divisi_modelless::jobs::{JobProgress, JobRules, OfflineJob};
use divisi_modelless::variants::TaskIndex;
use divisi_registry::records::{JobRecord, JobVariant, TaskInterface};

use super::board::PostedJob;
use super::output::JobOutput;
use crate::served::ServedTasks;

/// A range of rows, and their answers or the reason for a failure.
type AnsweredRows = (Range<u64>, Result<AnsweredLines, String>);

/// The lines of answered rows.
struct AnsweredLines {
    rows: u64,
    lines: String,
    /// The name of the variant that answered.
    variant: Arc<str>,
}

/// The progress of a job at a save.
#[derive(Clone, Debug)]
pub(super) struct KeptProgress {
    pub(super) progress: JobProgress,
    variants: Vec<JobVariant>,
}

impl KeptProgress {
    pub(super) fn of(record: &JobRecord) -> Self {
        KeptProgress {
            progress: record.progress,
            variants: record.variants.clone(),
        }
    }
}

/// A running job.
pub(super) struct JobUnderWay {
    pub(super) posted: PostedJob,
    /// The registrations with which the job runs, and its task in them.
    tasks: Arc<ServedTasks>,
    pub(super) task: TaskIndex,
    pub(super) decides: OfflineJob,
    /// The number of batches in progress.
    pub(super) under_way: usize,
    /// Its current state, in words.
    pub(super) state: String,
    /// The progress that was last on the disk.
    kept: KeptProgress,
    samples: Arc<Samples>,
    output: JobOutput,
    /// Answers that wait for earlier rows, by their first row.
    waiting: BTreeMap<u64, AnsweredLines>,
    done: (Sender<AnsweredRows>, Receiver<AnsweredRows>),
    /// The number of consecutive failed batches.
    failures: u32,
}

/// How long finished batches are awaited between two checks of the devices.
const LOOK: Duration = Duration::from_millis(1);
/// The time of batches that are requested together: several times the cost of a request.
const TOGETHER: Duration = Duration::from_millis(5);
/// The number of consecutive failed batches after which the job fails.
const MOST_FAILURES: u32 = 5;

impl JobUnderWay {
    /// Starts a job whose output was claimed, or continues it after the written rows.
    ///
    /// # Errors
    /// Returns the reason if the input has another number of rows than was submitted, or the output
    /// belongs to another job.
    pub(super) fn open(
        mut posted: PostedJob,
        tasks: Arc<ServedTasks>,
        task: TaskIndex,
        samples: Arc<Samples>,
        output: JobOutput,
        classes: &[String],
    ) -> Result<Self, String> {
        let record = &mut posted.record;
        let (expected, found) = (record.progress.rows, samples.len() as u64);
        if expected != found {
            return Err(format!(
                "{}: expected the {expected} submitted rows, found {found}",
                record.input
            ));
        }
        let progress = JobProgress {
            rows: samples.len() as u64,
            written: record.progress.written,
        };
        let rules = JobRules {
            together: TOGETHER,
            ..JobRules::default()
        };
        let decides = OfflineJob::new(rules, progress);
        let decides = decides.map_err(|why| format!("{}: {why}", record.input))?;
        let output = output.begin(progress.written, classes, record.names_variants);
        let output = output.map_err(|why| why.to_string())?;
        record.progress = progress;
        Ok(JobUnderWay {
            under_way: 0,
            state: String::new(),
            kept: KeptProgress::of(&posted.record),
            waiting: BTreeMap::new(),
            done: channel(),
            failures: 0,
            posted,
            tasks,
            task,
            decides,
            samples,
            output,
        })
    }

    /// Takes over the task as it is registered now. Returns `false` if it is not served.
    ///
    /// # Errors
    /// Returns the reason if the samples or the classes of the task are others than at the start.
    pub(super) fn follow(&mut self, tasks: &Arc<ServedTasks>) -> Result<bool, String> {
        if Arc::ptr_eq(&self.tasks, tasks) {
            return Ok(true);
        }
        let name = &self.posted.record.task;
        let Some(task) = tasks.catalog().task(name) else {
            self.state = "waiting: its task is not registered".to_owned();
            return Ok(false);
        };
        let interface = |tasks: &ServedTasks, task| {
            let whole = tasks.whole(task);
            whole.map(|(_, ensemble)| TaskInterface::from_ensemble(ensemble))
        };
        let (then, now) = (interface(&self.tasks, self.task), interface(tasks, task));
        if let (Some(then), Some(now)) = (then, now)
            && then != now
        {
            return Err(format!(
                "task `{name}` now has {now}; the job began with {then}"
            ));
        }
        (self.tasks, self.task) = (Arc::clone(tasks), task);
        Ok(true)
    }

    /// Requests the answers to some rows from an engine, by entry name and with a priority.
    pub(super) fn ask(&mut self, engine: &Engine, entry: &str, priority: u64, rows: Range<u64>) {
        self.under_way += 1;
        let Some(number) = engine.catalogue().find(entry, None) else {
            return self.put_back(&rows);
        };
        let (first, count) = (rows.start as usize, (rows.end - rows.start) as usize);
        let values = self.samples.rows(first, count);
        let (done, asked) = (self.done.0.clone(), rows.clone());
        let (variant, is_named): (Arc<str>, _) = (entry.into(), self.posted.record.names_variants);
        // The engine's thread formats the lines, since no query waits for it.
        let reply = move |outcome: Outcome| {
            let named = is_named.then_some(&*variant);
            let answers = outcome.map(|answer| AnsweredLines {
                rows: asked.end - asked.start,
                lines: JobOutput::lines(asked.start, answer.rows(), named),
                variant: Arc::clone(&variant),
            });
            // The job may have ended.
            let _ = done.send((asked, answers.map_err(|why| why.to_string())));
        };
        let request = Request {
            priority,
            // Rows without room are sent again, and the job reports its failures.
            accounting: Accounting::Apart,
            ..Request::new(&values).to(PipelineIndex(number))
        };
        match engine.submit_with(request, Box::new(reply)) {
            Ok(()) => {}
            // Missing room or a replaced engine is not a failure.
            Err(
                Refused::Full { .. }
                | Refused::QueueFull { .. }
                | Refused::Closed(_)
                | Refused::Starting,
            ) => self.put_back(&rows),
            Err(refused) => {
                let _ = self.done.0.send((rows, Err(refused.to_string())));
            }
        }
    }

    /// Requests all rows again that an ended engine did not answer.
    pub(super) fn take_back(&mut self) {
        let over: Vec<AnsweredRows> = std::iter::from_fn(|| self.done.1.try_recv().ok()).collect();
        for (rows, answers) in over {
            match answers {
                Ok(_) => drop(self.done.0.send((rows, answers))),
                Err(_) => self.put_back(&rows),
            }
        }
    }

    /// Marks rows to be requested again.
    fn put_back(&mut self, rows: &Range<u64>) {
        self.under_way -= 1;
        // The rows are in progress, so this cannot fail.
        let _ = self.decides.failed(rows);
    }

    /// Takes the finished batches and writes all rows that are next in order.
    ///
    /// # Errors
    /// Returns the reason if the output cannot be written or too many consecutive batches failed.
    pub(super) fn take(&mut self) -> Result<(), String> {
        // Waits a moment for the first batch.
        let first = self.done.1.recv_timeout(LOOK).ok();
        let rest = std::iter::from_fn(|| self.done.1.try_recv().ok());
        let over: Vec<AnsweredRows> = first.into_iter().chain(rest).collect();
        for (rows, answers) in over {
            self.under_way -= 1;
            match answers {
                Ok(answers) => self.finished(rows, answers)?,
                Err(why) => self.failed(&rows, why)?,
            }
        }
        Ok(())
    }

    fn failed(&mut self, rows: &Range<u64>, why: String) -> Result<(), String> {
        self.failures += 1;
        let again = self.decides.failed(rows);
        again.map_err(|why| why.to_string())?;
        match self.failures < MOST_FAILURES {
            true => Ok(()),
            false => Err(format!("rows {} to {}: {why}", rows.start, rows.end - 1)),
        }
    }

    fn finished(&mut self, rows: Range<u64>, answers: AnsweredLines) -> Result<(), String> {
        self.failures = 0;
        self.waiting.insert(rows.start, answers);
        let whole = self.decides.finished(&rows);
        let whole = whole.map_err(|why| why.to_string())?;
        let later = self.waiting.split_off(&whole.end);
        let ready = std::mem::replace(&mut self.waiting, later);
        if ready.is_empty() {
            return Ok(());
        }
        let lines: String = ready.values().map(|answers| &*answers.lines).collect();
        let written = self.output.write(&lines);
        written.map_err(|why| why.to_string())?;
        for answers in ready.values() {
            let record = &mut self.posted.record;
            record.count_rows(&answers.variant, answers.rows);
        }
        self.posted.record.progress = self.decides.progress();
        Ok(())
    }

    /// Returns the progress of the job and the file to sync before the progress is reported.
    ///
    /// # Errors
    /// Returns the reason if the system has no more file handles.
    pub(super) fn progress(&mut self) -> Result<(PostedJob, File), String> {
        let output = self.output.handle().map_err(|why| why.to_string())?;
        Ok((self.posted.clone(), output))
    }

    /// Records the progress of the last save.
    pub(super) fn was_kept(&mut self, kept: KeptProgress) {
        self.kept = kept;
    }

    /// Syncs the written rows to the disk and returns the progress of the job.
    ///
    /// # Errors
    /// Returns the reason if syncing failed.
    pub(super) fn confirmed(&mut self) -> Result<PostedJob, String> {
        self.output.sync().map_err(|why| why.to_string())?;
        Ok(self.posted.clone())
    }

    /// Returns the progress that was last on the disk.
    pub(super) fn last_kept(&self) -> PostedJob {
        let mut posted = self.posted.clone();
        posted.record.progress = self.kept.progress;
        posted.record.variants.clone_from(&self.kept.variants);
        posted
    }
}
