//! The thread of plans.

use std::io;
use std::thread;

use divisi_runtime::device::{ThreadPriority, set_current_thread_priority};

/// Runs work in a thread with lower priority: a plan takes milliseconds, which must not delay
/// queries. The caller keeps its priority, which its other threads inherit.
///
/// # Errors
/// Returns an error if the thread cannot be started.
pub(super) fn behind_queries<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let lower = thread::Builder::new().name("planning".into());
        let lower = lower.spawn_scoped(scope, || {
            // If the system refuses, the thread keeps its priority.
            set_current_thread_priority(ThreadPriority::Low);
            work()
        })?;
        let made = lower.join();
        Ok(made.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
