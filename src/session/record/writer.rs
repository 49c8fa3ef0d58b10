//! Writes a recording in its own thread behind a bounded queue: a slow disk never delays serving.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::wire::{Format, SpanBatch, hello};
use crate::{FigureHistory, RecordingView, Snapshot};
use divisi_model::trace::Span;
use divisi_runtime::lock::Leaf;

use super::block::Blocks;
use super::file::create;

/// The number of states and batches that may wait for the disk.
const QUEUE: usize = 512;
/// The number of spans that may wait, about 20 MB.
const SPANS: usize = 200_000;
/// The longest wait for the disk at the end.
const ENDING: Duration = Duration::from_secs(2);

enum Job {
    State(Box<Snapshot>),
    Spans(Duration, Vec<Span>, u64),
}

#[derive(Debug, Default)]
struct Status {
    bytes: AtomicU64,
    dropped: AtomicU64,
    waiting: AtomicUsize,
    failed: Leaf<Option<String>>,
}

/// A recording in progress.
pub(super) struct RecordingWriter {
    path: PathBuf,
    since: Duration,
    status: Arc<Status>,
    jobs: Option<SyncSender<Job>>,
    done: Receiver<()>,
}

impl RecordingWriter {
    /// Creates a file at `path`, or with a numbered name next to it if the path exists, and starts
    /// to write to it. It begins with the figures of the session before.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created or the thread cannot be started.
    pub(super) fn start(path: &Path, since: Duration, history: &FigureHistory) -> io::Result<Self> {
        let (file, path) = create(path)?;
        let status = Arc::new(Status::default());
        let (jobs, queue) = sync_channel(QUEUE);
        let (finished, done) = sync_channel(1);
        let shared = Arc::clone(&status);
        let blocks = Blocks::after(history);
        thread::Builder::new()
            .name("recording".into())
            .spawn(move || {
                if let Err(e) = write(file, blocks, &queue, &shared) {
                    *shared.failed.lock() = Some(e.to_string());
                }
                let _ = finished.try_send(());
            })?;
        Ok(RecordingWriter {
            path,
            since,
            status,
            jobs: Some(jobs),
            done,
        })
    }

    /// Returns the state of the recording.
    pub(super) fn view(&self) -> RecordingView {
        RecordingView {
            path: self.path.clone(),
            since: self.since,
            bytes: self.status.bytes.load(Ordering::Relaxed),
            dropped: self.status.dropped.load(Ordering::Relaxed),
            failed: self.status.failed.lock().clone(),
        }
    }

    /// Queues a state, unless the disk is behind.
    pub(super) fn state(&self, shown: Snapshot) {
        self.offer(Job::State(Box::new(shown)), 1);
    }

    /// Queues spans and the number lost before them, unless the disk is behind.
    pub(super) fn spans(&self, at: Duration, spans: &[Span], lost: u64) {
        if self.status.waiting.load(Ordering::Relaxed) + spans.len() > SPANS {
            self.drop_them(spans.len());
            return;
        }
        // For a playback, the spans dropped here are also lost.
        let lost = lost + self.status.dropped.load(Ordering::Relaxed);
        self.status
            .waiting
            .fetch_add(spans.len(), Ordering::Relaxed);
        if !self.offer(Job::Spans(at, spans.to_vec(), lost), spans.len()) {
            self.status
                .waiting
                .fetch_sub(spans.len(), Ordering::Relaxed);
        }
    }

    fn offer(&self, job: Job, count: usize) -> bool {
        let sent = self.jobs.as_ref().map(|jobs| jobs.try_send(job));
        if let Some(Err(TrySendError::Full(_))) = sent {
            self.drop_them(count);
        }
        matches!(sent, Some(Ok(())))
    }

    fn drop_them(&self, count: usize) {
        self.status
            .dropped
            .fetch_add(count as u64, Ordering::Relaxed);
    }
}

impl Drop for RecordingWriter {
    /// Waits for queued records, but not for a disk that no longer responds.
    fn drop(&mut self) {
        self.jobs = None;
        let _ = self.done.recv_timeout(ENDING);
    }
}

fn write(
    mut file: File,
    mut blocks: Blocks,
    queue: &Receiver<Job>,
    status: &Status,
) -> io::Result<()> {
    let mut put = |bytes: &[u8]| {
        status
            .bytes
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        file.write_all(bytes)
    };
    put(&hello(Format::Recording))?;
    for job in queue {
        let done = match job {
            Job::State(shown) => blocks.state(*shown).map_err(io::Error::other)?,
            Job::Spans(at, spans, lost) => {
                status.waiting.fetch_sub(spans.len(), Ordering::Relaxed);
                let noted = blocks.spans(at, SpanBatch::pack(&spans, lost));
                if !noted.map_err(io::Error::other)? {
                    let dropped = spans.len() as u64;
                    status.dropped.fetch_add(dropped, Ordering::Relaxed);
                }
                None
            }
        };
        if let Some(block) = done {
            put(&block)?;
        }
    }
    match blocks.finish() {
        Some(block) => put(&block),
        None => Ok(()),
    }
}
