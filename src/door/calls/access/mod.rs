//! The access log: a line per call, written by its own thread. A slow disk loses lines but delays
//! no call.

mod line;
mod lines;
mod sample;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use divisi_runtime::lock::Leaf;

use crate::notices::Notices;
use divisi_inference::service::Gauge;

use super::FinishedCall;

pub use lines::{LineBuffer, LostLines};
pub use sample::RateSampler;

/// The number of calls that may wait to be written.
const QUEUE: usize = 4096;

/// The time to wait for a flush.
const PATIENCE: Duration = Duration::from_secs(1);

/// The format of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessFormat {
    /// A JSON object.
    #[default]
    Json,
    /// Text for people.
    Text,
}

/// The destination and rate of the access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessOptions {
    /// The file to append to; `None` for standard output.
    pub file: Option<PathBuf>,
    /// The format of lines.
    pub format: AccessFormat,
    /// The maximum number of lines per second; `None` for all calls.
    pub rate: Option<u32>,
}

/// A message to the writer.
enum LogMessage {
    /// A call, and the number of calls before it without a line.
    Call(Arc<FinishedCall>, u64),
    /// Write all earlier calls and confirm it.
    Flush(SyncSender<()>),
}

/// The access log.
pub(crate) struct AccessLog {
    began: Instant,
    sampler: Leaf<RateSampler>,
    to: SyncSender<LogMessage>,
    left_out: AtomicU64,
    lost: Arc<AtomicU64>,
}

/// Opens a file for appending.
fn opened(path: &Path) -> io::Result<File> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    opened.map_err(named)
}

impl AccessLog {
    /// Starts the log.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened or the thread cannot be started.
    pub(crate) fn begin(options: &AccessOptions, notices: Notices) -> io::Result<Self> {
        let to = match &options.file {
            Some(path) => opened(path)?,
            // An unbuffered file, so that lost lines are known.
            None => File::from(io::stdout().as_fd().try_clone_to_owned()?),
        };
        let (sender, receiver) = sync_channel(QUEUE);
        let lost = Arc::default();
        let writer = LogWriter {
            to,
            lines: LineBuffer::default(),
            format: options.format,
            lost: Arc::clone(&lost),
            notices,
            told: false,
        };
        let writes = move || writer.run(&receiver);
        thread::Builder::new()
            .name("access log".into())
            .spawn(writes)?;
        Ok(AccessLog {
            began: Instant::now(),
            sampler: Leaf::new(RateSampler::new(options.rate)),
            to: sender,
            left_out: AtomicU64::new(0),
            lost,
        })
    }

    /// Queues an ended call without waiting.
    pub(super) fn take(&self, call: Arc<FinishedCall>) {
        let now = self.began.elapsed();
        let admitted = self.sampler.lock().admit(now);
        let Some(before) = admitted else {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        };
        if self.to.try_send(LogMessage::Call(call, before)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits a limited time until all lines are written.
    pub(super) fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        if self.to.try_send(LogMessage::Flush(done)).is_ok() {
            let _ = is_done.recv_timeout(PATIENCE);
        }
    }

    /// Returns the number of calls without a line.
    pub(super) fn gauges(&self) -> Vec<Gauge> {
        let gauge = |name, help, value: &AtomicU64| Gauge {
            name,
            help,
            counts: true,
            labels: Vec::new(),
            value: value.load(Ordering::Relaxed) as f64,
        };
        vec![
            gauge(
                "divisi_access_log_left_out_total",
                "Calls that the access log left out because of its rate limit",
                &self.left_out,
            ),
            gauge(
                "divisi_access_log_lost_total",
                "Access log lines that could not be written in time",
                &self.lost,
            ),
        ]
    }
}

struct LogWriter {
    to: File,
    lines: LineBuffer,
    format: AccessFormat,
    lost: Arc<AtomicU64>,
    notices: Notices,
    /// Whether the failure was reported.
    told: bool,
}

impl LogWriter {
    fn run(mut self, messages: &Receiver<LogMessage>) {
        let mut line = String::new();
        while let Some(message) = self.next(messages) {
            match message {
                LogMessage::Call(call, left_out) => {
                    line.clear();
                    line::write(&mut line, &call, left_out, self.format);
                    self.lines.push(&line);
                    if self.lines.is_full() {
                        self.write();
                    }
                }
                LogMessage::Flush(done) => {
                    self.write();
                    let _ = done.try_send(());
                }
            }
        }
        self.write();
    }

    /// Returns the next message, or `None` at the end. Writes the buffered lines before it waits.
    fn next(&mut self, messages: &Receiver<LogMessage>) -> Option<LogMessage> {
        match messages.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        self.write();
        messages.recv().ok()
    }

    /// Writes the buffered lines. Counts lost lines, and reports the failure once until lines can
    /// be written again.
    fn write(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        let Err(LostLines { lines, error }) = self.lines.write_to(&mut self.to) else {
            self.told = false;
            return;
        };
        self.lost.fetch_add(lines, Ordering::Relaxed);
        if !self.told {
            self.notices.say(&format!("access log: {error}"));
        }
        self.told = true;
    }
}
