//! A job that runs: its samples, what is asked, and what waits to be written.

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

/// Rows, and the lines of their answers or why there are none.
type AnsweredRows = (Range<u64>, Result<String, String>);

/// A job that runs.
pub(super) struct JobUnderWay {
    pub(super) posted: PostedJob,
    pub(super) task: TaskIndex,
    pub(super) decides: OfflineJob,
    /// Batches that are not over.
    pub(super) under_way: usize,
    /// Its state now, in words.
    pub(super) state: String,
    /// How far it was when that was last on the disk.
    kept: JobProgress,
    samples: Arc<Samples>,
    output: JobOutput,
    /// Answers that wait for those before them, by their first row.
    waiting: BTreeMap<u64, String>,
    done: (Sender<AnsweredRows>, Receiver<AnsweredRows>),
    /// Batches in a row that failed.
    failures: u32,
}

/// How long batches that are over are waited for between two looks at the devices.
const LOOK: Duration = Duration::from_millis(1);
/// How long batches take that are asked for together: some times what asking takes.
const TOGETHER: Duration = Duration::from_millis(5);
/// How many batches in a row may fail before the job does.
const MOST_FAILURES: u32 = 5;

impl JobUnderWay {
    /// Begins a job whose output was claimed, or goes on with it after the rows that were written.
    ///
    /// # Errors
    /// Its input has other rows than were handed over, or its output is not its own; in words.
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
                "{}: expected the {expected} rows that were handed over, found {found}",
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

    /// Asks an engine for the answers to some rows by the entry of a name, with a priority.
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
        // The engine's thread makes the lines, in whose time nobody else waits.
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
            // There is no room now, or another engine follows: that is no failure.
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

    /// Lets all rows be asked for again that an engine did not answer which has ended.
    pub(super) fn take_back(&mut self) {
        let over: Vec<AnsweredRows> = std::iter::from_fn(|| self.done.1.try_recv().ok()).collect();
        for (rows, answers) in over {
            match answers {
                Ok(_) => drop(self.done.0.send((rows, answers))),
                Err(_) => self.put_back(&rows),
            }
        }
    }

    /// Lets rows be asked for again.
    fn put_back(&mut self, rows: &Range<u64>) {
        self.under_way -= 1;
        // They run, by what asked for them.
        let _ = self.decides.failed(rows);
    }

    /// Takes the batches that are over, and writes the rows that can be.
    ///
    /// # Errors
    /// The output cannot be written, or batch after batch failed; in words.
    pub(super) fn take(&mut self) -> Result<(), String> {
        // The first one is waited for, for a moment.
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

    /// Returns how far the job is, and the file that has to be on the disk before that is told.
    ///
    /// # Errors
    /// The system lends no second handle to the file; in words.
    pub(super) fn progress(&mut self) -> Result<(PostedJob, File), String> {
        let output = self.output.handle().map_err(|why| why.to_string())?;
        Ok((self.posted.clone(), output))
    }

    /// Takes how far the job was when that was last kept.
    pub(super) fn was_kept(&mut self, progress: JobProgress) {
        self.kept = progress;
    }

    /// Returns how far the job is, once what it has written is on the disk.
    ///
    /// # Errors
    /// It cannot be; in words.
    pub(super) fn confirmed(&mut self) -> Result<PostedJob, String> {
        self.output.sync().map_err(|why| why.to_string())?;
        Ok(self.posted.clone())
    }

    /// Returns how far the job was when that was last on the disk.
    pub(super) fn last_kept(&self) -> PostedJob {
        let mut posted = self.posted.clone();
        posted.record.progress = self.kept;
        posted
    }
}
