//! The access log: a line a call, written by a thread of its own. A disk that is slow costs lines
//! and no call.

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

/// Calls that may wait to be written.
const QUEUE: usize = 4096;

/// The time that a flush is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// How a line is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessFormat {
    /// As an object of JSON.
    #[default]
    Json,
    /// As text for people.
    Text,
}

/// Where the access log goes, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessOptions {
    /// The file that lines are appended to; `None` for standard output.
    pub file: Option<PathBuf>,
    /// How a line is written.
    pub format: AccessFormat,
    /// Lines a second; `None` for one a call.
    pub rate: Option<u32>,
}

/// A message to the writer.
enum LogMessage {
    /// A call, and how many before it have no line.
    Call(Arc<FinishedCall>, u64),
    /// To write all that came before, and to say so.
    Flush(SyncSender<()>),
}

/// See the module's text.
pub(crate) struct AccessLog {
    began: Instant,
    sampler: Leaf<RateSampler>,
    to: SyncSender<LogMessage>,
    left_out: AtomicU64,
    lost: Arc<AtomicU64>,
}

/// Opens a file to add lines to it.
fn opened(path: &Path) -> io::Result<File> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    opened.map_err(named)
}

impl AccessLog {
    /// Begins a log.
    ///
    /// # Errors
    /// The file cannot be written, or there is no thread left.
    pub(crate) fn begin(options: &AccessOptions, notices: Notices) -> io::Result<Self> {
        let to = match &options.file {
            Some(path) => opened(path)?,
            // As a file it keeps no lines back, so that it is known which ones are lost.
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

    /// Takes a call that is over. It does not wait.
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

    /// Waits until all lines are written, for a while.
    pub(super) fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        if self.to.try_send(LogMessage::Flush(done)).is_ok() {
            let _ = is_done.recv_timeout(PATIENCE);
        }
    }

    /// Returns how many calls have no line.
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
    /// Whether it was told that lines cannot be written.
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

    /// Returns the next message, or `None` at the end. Before it waits it writes what it has.
    fn next(&mut self, messages: &Receiver<LogMessage>) -> Option<LogMessage> {
        match messages.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        self.write();
        messages.recv().ok()
    }

    /// Writes the lines that it has. Counts those that are lost, and tells it once until lines can be
    /// written again.
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
