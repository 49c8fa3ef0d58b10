//! Threads of drivers: sleeping, waking and joining.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Builder, JoinHandle, Thread};
use std::time::{Duration, Instant};

use super::super::locks::Leaf;
use super::driver::DriverHost;

/// Wakes the sleeping thread of a driver.
#[derive(Debug, Default)]
pub(super) struct ThreadWaker {
    thread: OnceLock<Thread>,
    woken: AtomicBool,
}

impl ThreadWaker {
    /// Sets the thread to wake. Only the first call counts.
    pub(super) fn attach(&self, thread: &Thread) {
        let _ = self.thread.set(thread.clone());
    }

    /// Ends the thread's current or next sleep.
    pub(super) fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Sleeps until it is woken, until `until`, or until the host stops.
    pub(super) fn sleep(&self, host: &dyn DriverHost, until: Option<Duration>) {
        let woken = || self.woken.load(Ordering::Acquire);
        if !spin(woken) {
            loop {
                let left = until.map(|at| at.saturating_sub(host.now()));
                let over = left.is_some_and(|l| l.is_zero());
                if over || host.is_stopping() || woken() {
                    break;
                }
                match left {
                    Some(left) => thread::park_timeout(left),
                    None => thread::park(),
                }
            }
        }
        self.woken.store(false, Ordering::Release);
    }
}

/// The single thread of a driver whose work always ends.
#[derive(Debug, Default)]
pub(super) struct DriverThread {
    waker: ThreadWaker,
    handle: Leaf<Option<JoinHandle<()>>>,
}

impl DriverThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread could be started.
    pub(super) fn start(&self, name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let handle = Builder::new().name(name.to_owned()).spawn(body)?;
        // The door is still closed, so nothing wakes the thread before it is attached.
        self.waker.attach(handle.thread());
        *self.handle.lock() = Some(handle);
        Ok(())
    }

    /// See [`ThreadWaker::wake`].
    pub(super) fn wake(&self) {
        self.waker.wake();
    }

    /// See [`ThreadWaker::sleep`].
    pub(super) fn sleep(&self, host: &dyn DriverHost, until: Option<Duration>) {
        self.waker.sleep(host, until);
    }

    /// Waits for the thread's end.
    pub(super) fn join(&self) {
        let handle = self.handle.lock().take();
        // The thread catches panics, and nothing could be done about others.
        drop(handle.map(JoinHandle::join));
    }
}

/// A thread whose end is awaited only for a limited time, because work on a hanging device cannot
/// be cancelled.
#[derive(Debug)]
pub(super) struct BoundedThread {
    handle: JoinHandle<()>,
    /// Disconnected when the thread has ended. Nothing is ever sent.
    over: Receiver<()>,
}

impl BoundedThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread could be started.
    pub(super) fn start(name: String, body: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let (alive, over) = channel();
        let handle = Builder::new().name(name).spawn(move || {
            // Dropped last, after everything else in the body.
            let _alive: Sender<()> = alive;
            body();
        })?;
        Ok(BoundedThread { handle, over })
    }

    /// Returns the thread, for waking it.
    pub(super) fn thread(&self) -> &Thread {
        self.handle.thread()
    }

    /// Waits for the thread's end until `limit`. Returns the thread if it is still running.
    pub(super) fn join_until(self, limit: Instant) -> Option<Self> {
        let left = limit.saturating_duration_since(Instant::now());
        match self.over.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) => Some(self),
            _ => {
                // Returns at once, because the body has ended.
                let _ = self.handle.join();
                None
            }
        }
    }

    /// Returns whether the thread is running.
    pub(super) fn goes_on(&self) -> bool {
        self.over.recv_timeout(Duration::ZERO) == Err(RecvTimeoutError::Timeout)
    }
}

/// The longest time that a thread spins before it sleeps.
const SPIN: Duration = Duration::from_micros(20);

/// Spins for at most [`SPIN`] until `ready`.
///
/// It does not yield: Linux would give the core to a waiting thread for a whole time slice of some
/// milliseconds, however low its priority is.
pub(crate) fn spin(ready: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..16 {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() >= SPIN {
            return false;
        }
    }
}
