//! Progress on standard error for whatever takes longer than two seconds.

use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::{Duration, Instant};

/// Says how far something is: in place on a terminal, else now and then a line.
pub struct ProgressLine {
    started: Instant,
    said: Option<Instant>,
    terminal: bool,
}

const QUIET: Duration = Duration::from_secs(2);
/// How often to look whether watched work is done.
const LOOK: Duration = Duration::from_millis(20);

impl ProgressLine {
    pub fn new() -> Self {
        ProgressLine {
            started: Instant::now(),
            said: None,
            terminal: io::stderr().is_terminal(),
        }
    }

    /// Does `work` in a thread of its own and says how `far` it is; none where it
    /// panicked.
    pub fn watch<T: Send>(work: impl FnOnce() -> T + Send, far: impl Fn() -> String) -> Option<T> {
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

    /// Says `text` if it is time to.
    pub fn say(&mut self, text: impl FnOnce() -> String) {
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
