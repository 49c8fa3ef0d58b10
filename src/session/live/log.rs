//! The program's log, bounded, for a panel.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{LogEntry, LogLevel};
use divisi_engine::serving::{EngineEvent, LogTarget, UntracedLine};
use divisi_runtime::lock::Leaf;
use divisi_runtime::words::one_line;

/// The number of lines kept.
const LOG_LINES: usize = 500;

/// The newest lines.
#[derive(Debug)]
pub(super) struct Log {
    lines: Leaf<VecDeque<LogEntry>>,
    dropped: AtomicU64,
}

impl Log {
    /// Creates an empty log.
    pub(super) fn new() -> Self {
        Log {
            lines: Leaf::default(),
            dropped: AtomicU64::new(0),
        }
    }

    /// Adds a line of `target`. The caller traces it without holding a lock.
    pub(super) fn add(
        &self,
        at: Duration,
        target: LogTarget,
        level: LogLevel,
        text: String,
    ) -> UntracedLine {
        let line = UntracedLine::new(target, level, &text);
        self.keep(at, level, text);
        line
    }

    /// Adds an event that the engine has already traced.
    pub(super) fn add_event(&self, at: Duration, event: &EngineEvent) {
        self.keep(at, event.level(), event.text());
    }

    /// Keeps a line that is traced elsewhere, and drops the oldest one if the log is full.
    pub(super) fn keep(&self, at: Duration, level: LogLevel, text: String) {
        let text = one_line(&text).into_owned();
        let mut lines = self.lines.lock();
        if lines.len() >= LOG_LINES {
            lines.pop_front();
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        lines.push_back(LogEntry { at, level, text });
    }

    /// Returns the lines, oldest first, after a line that counts the dropped lines.
    pub(super) fn lines(&self) -> Vec<LogEntry> {
        let dropped = self.dropped.load(Ordering::Relaxed);
        let gone = (dropped > 0).then(|| LogEntry {
            at: Duration::ZERO,
            level: LogLevel::Info,
            text: format!("{dropped} older lines are gone"),
        });
        let lines = self.lines.lock();
        gone.into_iter().chain(lines.iter().cloned()).collect()
    }
}
