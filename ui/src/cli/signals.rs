//! Signals that end a command in an orderly way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};

/// Signals within this time after the first one count as the same request.
pub(crate) const TOGETHER: Duration = Duration::from_millis(500);

/// Returns a flag that SIGINT, SIGTERM or SIGHUP sets.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    on_end(move || set.store(true, Ordering::Release));
    flag
}

/// Calls `stop` on SIGINT, SIGTERM or SIGHUP.
pub(crate) fn on_end(stop: impl FnOnce() + Send + 'static) {
    watch(true, stop);
}

/// Calls `stop` on SIGINT or SIGTERM. A process without a terminal gets no hang-up. Signals within
/// [`TOGETHER`] of the start belong to the hang-up of the console and are ignored.
pub(crate) fn on_stop(stop: impl FnOnce() + Send + 'static) {
    watch(false, stop);
}

fn watch(hang_up: bool, stop: impl FnOnce() + Send + 'static) {
    let began = Instant::now();
    // If the thread cannot start, signals end the process at once.
    let _ = thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build();
            let Ok(runtime) = runtime else { return };
            let mut told = runtime.block_on(any(hang_up));
            while !hang_up && told.is_ok() && began.elapsed() < TOGETHER {
                told = runtime.block_on(any(hang_up));
            }
            if told.is_ok() {
                stop();
                // A second signal ends the process at once. A signal to the process and one to its
                // group count as one.
                let asked = Instant::now();
                while runtime.block_on(any(hang_up)).is_ok() {
                    if asked.elapsed() >= TOGETHER {
                        std::process::exit(1);
                    }
                }
            }
        });
}

async fn any(hang_up: bool) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv(), if hang_up => {}
    }
    Ok(())
}
