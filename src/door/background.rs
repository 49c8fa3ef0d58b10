//! Threads of lower priority for the JSON of large requests, so that small requests do not wait
//! behind it.

use std::io;

use divisi_runtime::device::{ThreadPriority, set_current_thread_priority};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;

use divisi_inference::error::{ErrorKind, ServiceError};

/// The size in bytes from which JSON is large: about 0.2 ms of work, ten times the cost of the
/// handover.
const LARGE: usize = 64 << 10;

/// The threads, which end when this is dropped.
pub(crate) struct BackgroundThreads {
    handle: Handle,
    runtime: Option<Runtime>,
}

impl BackgroundThreads {
    /// Starts `threads` threads.
    ///
    /// # Errors
    /// Returns an error if the system has no more threads.
    pub(crate) fn start(threads: usize) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("large bodies")
            .on_thread_start(|| {
                // If the system refuses, the threads keep their priority.
                set_current_thread_priority(ThreadPriority::Low);
            })
            .build()?;
        Ok(BackgroundThreads {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    /// Returns a handle for submitting work.
    pub(crate) fn handle(&self) -> Background {
        Background(self.handle.clone())
    }
}

impl Drop for BackgroundThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Submits work to [`BackgroundThreads`].
#[derive(Clone)]
pub(crate) struct Background(Handle);

impl Background {
    /// Runs `work` on `bytes` bytes of JSON: in place if there are few. Work that has not started
    /// is dropped if its result is no longer awaited.
    ///
    /// # Errors
    /// Returns the error of the work, or an error if it stopped unexpectedly.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        if bytes < LARGE {
            return work();
        }
        let mut tasks = JoinSet::new();
        tasks.spawn_on(async { work() }, &self.0);
        let done = tasks.join_next().await;
        done.and_then(Result::ok).unwrap_or_else(|| {
            let message = "reading or writing JSON stopped unexpectedly";
            Err(ServiceError::new(ErrorKind::Internal, message))
        })
    }
}

#[cfg(test)]
#[path = "../../tests/door/units/background.rs"]
mod tests;
