//! Writes a session to a file while it runs.
//!
//! The file is a header followed by blocks. A block begins with a complete snapshot and does not
//! depend on other blocks: a file truncated by a crash is readable up to its last complete block,
//! and playback from any position reads a single block. Only the owner may read the file. Writing
//! happens behind a bounded queue, so a slow disk does not delay the session.

mod block;
mod file;
mod writer;

pub use file::{Decoded, RecordingReader};

pub(crate) use block::{Record, Records};

use std::path::Path;
use std::time::Duration;

use crate::{
    Audience, Command, EditPreview, FigureHistory, RecordingView, Refusal, Session, SessionRefusal,
    Setup, Snapshot, WhatIf, WhatIfReply,
};
use divisi_model::trace::Span;

use writer::RecordingWriter;

/// The least time between two states: about ten states a second.
const BETWEEN: Duration = Duration::from_millis(90);

/// Records the wrapped session to a file, from [`Command::StartRecording`] on.
pub struct Recorder<S> {
    inner: S,
    writer: Option<RecordingWriter>,
    noted: Option<Duration>,
    shown: Option<Snapshot>,
}

impl<S: Session> Recorder<S> {
    /// Wraps a session without recording it.
    pub fn new(inner: S) -> Self {
        Recorder {
            inner,
            writer: None,
            noted: None,
            shown: None,
        }
    }

    /// Returns the wrapped session.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn start(&mut self, path: &Path) -> Result<(), Refusal> {
        let view = self.writer.as_ref().map(RecordingWriter::view);
        if let Some(RecordingView {
            path, failed: None, ..
        }) = view
        {
            return Err(SessionRefusal::RecordingUnderWay(path).into());
        }
        // A recording without earlier figures is better than none.
        let history = self.inner.history().unwrap_or_default();
        let started = RecordingWriter::start(path, self.inner.now(), &history);
        let refuse = |error: std::io::Error| SessionRefusal::RecordingFailed {
            path: path.to_owned(),
            why: error.to_string(),
        };
        self.writer = Some(started.map_err(refuse)?);
        // The file begins with a state: spans are meaningless without one.
        self.noted = None;
        self.snapshot();
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Refusal> {
        // The changes since the last recorded state.
        if let (Some(writer), Some(shown)) = (&self.writer, self.shown.take()) {
            writer.state(shown);
        }
        match self.writer.take() {
            Some(_) => Ok(()),
            None => Err(SessionRefusal::RecordingNone.into()),
        }
    }

    fn note(&mut self, shown: &Snapshot) {
        let Some(writer) = &self.writer else { return };
        let mut shown = shown.clone();
        shown.recording = None;
        shown.audience = Audience::default();
        let due = self.noted.is_none_or(|at| shown.now >= at + BETWEEN);
        if !due {
            self.shown = Some(shown);
            return;
        }
        self.noted = Some(shown.now);
        self.shown = None;
        writer.state(shown);
    }
}

impl<S: Session> Session for Recorder<S> {
    fn snapshot(&mut self) -> Snapshot {
        let mut shown = self.inner.snapshot();
        self.note(&shown);
        shown.recording = self.writer.as_ref().map(RecordingWriter::view);
        shown
    }

    fn now(&mut self) -> Duration {
        self.inner.now()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        let first = into.len();
        let lost = self.inner.drain_spans(into);
        if let Some(writer) = &self.writer
            && into.len() > first
        {
            writer.spans(self.inner.now(), &into[first..], lost);
        }
        lost
    }

    fn history(&mut self) -> Result<FigureHistory, Refusal> {
        self.inner.history()
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        match command {
            Command::StartRecording(path) => self.start(&path),
            Command::StopRecording => self.stop(),
            other => self.inner.command(other),
        }
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        self.inner.preview(setup)
    }

    fn what_if(&mut self, question: &WhatIf) -> Result<WhatIfReply, Refusal> {
        self.inner.what_if(question)
    }
}

impl<S> Drop for Recorder<S> {
    fn drop(&mut self) {
        if let (Some(writer), Some(shown)) = (&self.writer, self.shown.take()) {
            writer.state(shown);
        }
    }
}
