//! The terminal's input, read while this program is in the foreground.

mod pasted;
mod scanner;
mod sequences;
mod started;
mod utf8;

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Stdin};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use crossterm::event::Event;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::Notify;
use tokio::time::sleep_until;

pub(super) use pasted::{console_events, typed_sign};
pub use scanner::{CUT, InputScanner, PASTED, TOGETHER, TYPED};

/// The number of bytes per read.
const READ: usize = 4096;

/// The terminal's input as events.
///
/// A thread waits for input but does not read it, since the terminal may belong to another program
/// by then.
pub(super) struct TerminalInput {
    scanner: InputScanner,
    ready: VecDeque<Event>,
    began: Instant,
    /// Each message makes the thread wait for input once.
    asks: Sender<()>,
    asked: bool,
    heard: Arc<Notify>,
    /// Closing this end stops the thread.
    _until: UnixStream,
}

impl TerminalInput {
    /// Starts waiting for input.
    ///
    /// # Errors
    /// The system has no thread or no socket left.
    pub(super) fn new() -> anyhow::Result<Self> {
        let (until, end) = UnixStream::pair().context("cannot open a pair of sockets")?;
        let (asks, asked) = channel();
        let heard = Arc::new(Notify::new());
        let notify = Arc::clone(&heard);
        thread::Builder::new()
            .name("input".into())
            .spawn(move || watch(&asked, &end, &notify))
            .context("cannot start a thread")?;
        Ok(TerminalInput {
            scanner: InputScanner::default(),
            ready: VecDeque::new(),
            began: Instant::now(),
            asks,
            asked: false,
            heard,
            _until: until,
        })
    }

    /// Waits until [`next`](Self::next) may return an event.
    pub(super) async fn wait(&mut self) {
        if !self.ready.is_empty() {
            return;
        }
        if !self.asked {
            // Without the thread there is no input.
            self.asked = self.asks.send(()).is_ok();
        }
        let due = self.scanner.deadline();
        let due = due.map(|after| self.began + after);
        tokio::select! {
            biased;
            () = self.heard.notified() => self.asked = false,
            () = sleep_until(due.unwrap_or(self.began).into()), if due.is_some() => {}
        }
    }

    /// Returns the next available event.
    ///
    /// # Errors
    /// The terminal has gone.
    pub(super) fn next(&mut self) -> io::Result<Option<Event>> {
        if self.ready.is_empty() {
            self.read()?;
        }
        Ok(self.ready.pop_front())
    }

    /// Returns the next event if it arrives within `time`. This call blocks.
    ///
    /// # Errors
    /// The terminal has gone.
    pub(super) fn next_within(&mut self, time: Duration) -> io::Result<Option<Event>> {
        let until = Instant::now() + time;
        loop {
            if let Some(event) = self.next()? {
                return Ok(Some(event));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !has_input(&io::stdin(), left)? {
                return Ok(None);
            }
        }
    }

    /// Reads available input, and returns characters that have waited long enough.
    fn read(&mut self) -> io::Result<()> {
        let stdin = io::stdin();
        let now = self.began.elapsed();
        if !has_input(&stdin, Duration::ZERO)? {
            self.ready.extend(self.scanner.lapse(now));
            return Ok(());
        }
        let mut bytes = [0; READ];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                self.ready.extend(self.scanner.take(&bytes[..read], now));
                Ok(())
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns whether something can be read within `time`, including the end of input.
fn has_input(stdin: &Stdin, time: Duration) -> io::Result<bool> {
    let time = Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    };
    match poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&time)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Reports available input once per message, until the other end of `end` is closed.
fn watch(asked: &Receiver<()>, end: &UnixStream, heard: &Notify) {
    let stdin = io::stdin();
    while asked.recv().is_ok() {
        let mut sources = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(end, PollFlags::IN),
        ];
        while poll(&mut sources, None) == Err(Errno::INTR) {}
        if !sources[1].revents().is_empty() {
            return;
        }
        heard.notify_one();
    }
}
