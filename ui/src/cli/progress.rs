//! Progress on standard error for work that takes longer than two seconds.

use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::{Duration, Instant};

/// A line of progress: rewritten in place on a terminal, else repeated now and then.
pub(crate) struct ProgressLine {
    started: Instant,
    said: Option<Instant>,
    terminal: bool,
}

const QUIET: Duration = Duration::from_secs(2);
/// Time between two checks whether watched work is done.
const LOOK: Duration = Duration::from_millis(20);

impl ProgressLine {
    pub(crate) fn new() -> Self {
        ProgressLine {
            started: Instant::now(),
            said: None,
            terminal: io::stderr().is_terminal(),
        }
    }

    /// Runs `work` in its own thread and shows how `far` it is. Returns `None` if it panicked.
    pub(crate) fn watch<T: Send>(
        work: impl FnOnce() -> T + Send,
        far: impl Fn() -> String,
    ) -> Option<T> {
        let mut progress = ProgressLine::new();
        thread::scope(|scope| {
            let working = scope.spawn(work);
            while !working.is_finished() {
                thread::park_timeout(LOOK);
                progress.say(&far);
            }
            working.join().ok()
        })
    }

    /// Shows `text` if enough time has passed.
    pub(crate) fn say(&mut self, text: impl FnOnce() -> String) {
        let pause = Duration::from_millis(if self.terminal { 200 } else { 5000 });
        let early = self.started.elapsed() < QUIET;
        if early || self.said.is_some_and(|at| at.elapsed() < pause) {
            return;
        }
        self.said = Some(Instant::now());
        let text = text();
        // Progress that cannot be shown is no reason to fail.
        let _ = if self.terminal {
            write!(io::stderr(), "\r{text:<78}")
        } else {
            writeln!(io::stderr(), "{text}")
        };
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.terminal && self.said.is_some() {
            let _ = write!(io::stderr(), "\r{:78}\r", "");
        }
    }
}
