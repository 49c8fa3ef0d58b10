//! The program's log: bounded, for a pane.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::lock::lock;
use crate::session::{LogEntry, LogLevel};

use super::LOG_LINES;

/// The newest lines.
#[derive(Debug)]
pub(super) struct Log {
    lines: Mutex<VecDeque<LogEntry>>,
}

impl Log {
    pub fn new() -> Self {
        Log {
            lines: Mutex::default(),
        }
    }

    pub fn add(&self, at: Duration, level: LogLevel, text: String) {
        let mut lines = self.lock();
        if lines.len() >= LOG_LINES {
            lines.pop_front();
        }
        lines.push_back(LogEntry { at, level, text });
    }

    /// Adds a notice of the engine, which begins with its level where it is grave.
    pub fn add_notice(&self, at: Duration, notice: String) {
        let (level, text) = match notice.split_once(": ") {
            Some(("warning", text)) => (LogLevel::Warn, text.to_owned()),
            Some(("error", text)) => (LogLevel::Error, text.to_owned()),
            _ => (LogLevel::Info, notice),
        };
        self.add(at, level, text);
    }

    pub fn lines(&self) -> Vec<LogEntry> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<LogEntry>> {
        lock(&self.lines)
    }
}
