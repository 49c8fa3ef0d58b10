//! A thread that is waited for within bounds: what a GPU does not finish, nobody can
//! take back from it.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// See the module's text.
#[derive(Debug)]
pub(super) struct BoundedThread {
    handle: JoinHandle<()>,
    /// Nothing is ever sent: it is disconnected once the thread is over.
    over: Receiver<()>,
}

impl BoundedThread {
    /// Starts a thread.
    ///
    /// # Errors
    /// The system has none left.
    pub fn start(name: String, body: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let (alive, over) = channel();
        let handle = Builder::new().name(name).spawn(move || {
            // Dropped last, after all that the body held.
            let _alive: Sender<()> = alive;
            body();
        })?;
        Ok(BoundedThread { handle, over })
    }

    /// The thread, to be woken.
    pub fn thread(&self) -> &Thread {
        self.handle.thread()
    }

    /// Waits for the thread's end until `limit`; gives it back where it goes on.
    pub fn join_until(self, limit: Instant) -> Option<Self> {
        let left = limit.saturating_duration_since(Instant::now());
        match self.over.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) => Some(self),
            _ => {
                // Only the return of a body that is over is waited for.
                let _ = self.handle.join();
                None
            }
        }
    }

    /// Whether the thread goes on.
    pub fn goes_on(&self) -> bool {
        self.over.recv_timeout(Duration::ZERO) == Err(RecvTimeoutError::Timeout)
    }
}
