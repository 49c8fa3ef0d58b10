//! Threads of drivers: how they sleep and are woken, and how their end is waited for.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Builder, JoinHandle, Thread};
use std::time::{Duration, Instant};

use super::super::locks::Leaf;
use super::driver::DriverHost;

/// Wakes the thread of a driver that sleeps by it.
#[derive(Debug, Default)]
pub(super) struct ThreadWaker {
    thread: OnceLock<Thread>,
    woken: AtomicBool,
}

impl ThreadWaker {
    /// The thread that is woken from now on; only the first one counts.
    pub(super) fn attach(&self, thread: &Thread) {
        let _ = self.thread.set(thread.clone());
    }

    /// Ends the thread's sleep, or its next one.
    pub(super) fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Sleeps until it is woken, until `until`, or until the host is stopping.
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

/// The one thread of a driver whose work always ends.
#[derive(Debug, Default)]
pub(super) struct DriverThread {
    waker: ThreadWaker,
    handle: Leaf<Option<JoinHandle<()>>>,
}

impl DriverThread {
    /// Starts it.
    ///
    /// # Errors
    /// The system has none left.
    pub(super) fn start(&self, name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let handle = Builder::new().name(name.to_owned()).spawn(body)?;
        // The door is still closed, so nobody wakes the thread before it is known.
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

    /// Waits for its end.
    pub(super) fn join(&self) {
        let handle = self.handle.lock().take();
        // It catches panics; there is nothing to do about others.
        drop(handle.map(JoinHandle::join));
    }
}

/// A thread whose end is waited for within bounds: what a device does not finish, nobody
/// can take back from it.
#[derive(Debug)]
pub(super) struct BoundedThread {
    handle: JoinHandle<()>,
    /// Nothing is ever sent: it is disconnected once the thread is over.
    over: Receiver<()>,
}

impl BoundedThread {
    /// Starts it.
    ///
    /// # Errors
    /// The system has none left.
    pub(super) fn start(name: String, body: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let (alive, over) = channel();
        let handle = Builder::new().name(name).spawn(move || {
            // Dropped last, after all that the body held.
            let _alive: Sender<()> = alive;
            body();
        })?;
        Ok(BoundedThread { handle, over })
    }

    /// Returns the thread, to be woken.
    pub(super) fn thread(&self) -> &Thread {
        self.handle.thread()
    }

    /// Waits for the thread's end until `limit`, and returns it if it goes on.
    pub(super) fn join_until(self, limit: Instant) -> Option<Self> {
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
    pub(super) fn goes_on(&self) -> bool {
        self.over.recv_timeout(Duration::ZERO) == Err(RecvTimeoutError::Timeout)
    }
}

/// Longest time a thread spins before it sleeps.
const SPIN: Duration = Duration::from_micros(20);

/// Spins for at most [`SPIN`] until `ready`.
///
/// It does not yield: Linux would give the core to whoever waits for it for a whole slice, some
/// milliseconds, however low their priority is.
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
