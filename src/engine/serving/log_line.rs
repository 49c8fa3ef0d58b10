//! Log lines of a session, as events of `tracing`.

use divisi_runtime::words::one_line;

use super::events::{LogLevel, at_level};

/// The part of a session that writes a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Changes of the running setup.
    Changes,
    /// The search for an allocation matrix.
    Search,
    /// The built-in load.
    Load,
    /// The session itself and its observers.
    Session,
}

/// A log line that has not been passed to `tracing` yet.
#[derive(Debug)]
#[must_use = "`tracing` is still to see the line"]
pub struct UntracedLine {
    target: LogTarget,
    level: LogLevel,
    text: String,
}

impl UntracedLine {
    /// Creates a line of `target`.
    pub fn new(target: LogTarget, level: LogLevel, text: &str) -> Self {
        UntracedLine {
            target,
            level,
            text: one_line(text).into_owned(),
        }
    }

    /// Passes the line to `tracing`. The caller must not hold a lock, because a subscriber may
    /// write to a terminal that blocks.
    pub fn trace(self) {
        let UntracedLine {
            target,
            level,
            text,
        } = self;
        match target {
            LogTarget::Changes => at_level!(level, "divisi::changes", "{text}"),
            LogTarget::Search => at_level!(level, "divisi::search", "{text}"),
            LogTarget::Load => at_level!(level, "divisi::load", "{text}"),
            LogTarget::Session => at_level!(level, "divisi::session", "{text}"),
        }
    }
}
