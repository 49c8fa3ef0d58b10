//! A running job: its samples, its requests, and the answers that wait to be written.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use divisi_engine::serving::{Engine, Outcome, PipelineIndex, Refused, Request};
use divisi_model::ensemble::Samples;
use divisi_modelless::jobs::{JobProgress, JobRules, OfflineJob};
use divisi_modelless::variants::TaskIndex;

use super::board::PostedJob;
use super::output::JobOutput;

/// A range of rows, and the lines of their answers or the reason for a failure.
type AnsweredRows = (Range<u64>, Result<String, String>);

/// A running job.
pub(super) struct JobUnderWay {
    pub(super) posted: PostedJob,
    pub(super) task: TaskIndex,
    pub(super) decides: OfflineJob,
    /// The number of batches in progress.
    pub(super) under_way: usize,
    /// Its current state, in words.
    pub(super) state: String,
    /// The progress that was last on the disk.
    kept: JobProgress,
    samples: Arc<Samples>,
    output: JobOutput,
    /// Answers that wait for earlier rows, by their first row.
    waiting: BTreeMap<u64, String>,
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
        task: TaskIndex,
        samples: Arc<Samples>,
        (output, classes): (JobOutput, &[String]),
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
        let output = output.begin(progress.written, classes);
        let output = output.map_err(|why| why.to_string())?;
        record.progress = progress;
        Ok(JobUnderWay {
            under_way: 0,
            state: String::new(),
            kept: progress,
            waiting: BTreeMap::new(),
            done: channel(),
            failures: 0,
            posted,
            task,
            decides,
            samples,
            output,
        })
    }

    /// Requests the answers to some rows from an engine, by entry name and with a priority.
    pub(super) fn ask(
        &mut self,
        engine: &Engine,
        (entry, priority): (&str, u64),
        rows: Range<u64>,
    ) {
        self.under_way += 1;
        let Some(number) = engine.catalogue().find(entry, None) else {
            return self.put_back(&rows);
        };
        let (first, count) = (rows.start as usize, (rows.end - rows.start) as usize);
        let values = self.samples.rows(first, count);
        let (done, asked) = (self.done.0.clone(), rows.clone());
        // The engine's thread formats the lines, since no query waits for it.
        let reply = move |outcome: Outcome| {
            let answers = outcome.map(|answer| JobOutput::lines(asked.start, answer.rows()));
            // The job may have ended.
            let _ = done.send((asked, answers.map_err(|why| why.to_string())));
        };
        let request = Request {
            priority,
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

    fn finished(&mut self, rows: Range<u64>, answers: String) -> Result<(), String> {
        self.failures = 0;
        self.waiting.insert(rows.start, answers);
        let whole = self.decides.finished(&rows);
        let whole = whole.map_err(|why| why.to_string())?;
        let mut ready = String::new();
        while let Some(first) = self.waiting.first_entry() {
            if *first.key() >= whole.end {
                break;
            }
            ready.push_str(&first.remove());
        }
        if ready.is_empty() {
            return Ok(());
        }
        let written = self.output.write(&ready);
        written.map_err(|why| why.to_string())?;
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
    pub(super) fn was_kept(&mut self, progress: JobProgress) {
        self.kept = progress;
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
        posted.record.progress = self.kept;
        posted
    }
}
