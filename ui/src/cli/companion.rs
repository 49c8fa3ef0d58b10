//! The thin parent of a console: it starts the console as a child, passes signals on to it and ends
//! with it. It also stops with it, so that the shell gets its prompt back.
//!
//! It makes no decisions and holds no terminal. Everything happens in sequence in one thread, so a
//! stop is not passed on again after the child has stopped for it.

use std::process::Command;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, waitpid,
};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::timeout;

use crate::console::can_be_continued;

/// The environment variable with the process id of the parent.
const OF: &str = "DIVISI_CONSOLE_OF";
/// The time within which an already sent signal arrives.
const SENT_ALREADY: Duration = Duration::from_millis(2);
/// The time within which a stop takes effect; later it counts as ignored.
const STOP: Duration = Duration::from_millis(300);

/// Returns the thin parent if this process is its child, and ends with it.
pub(super) fn parent() -> Option<Pid> {
    let told = std::env::var(OF).ok()?.parse::<i32>().ok()?;
    let parent = getppid().filter(|pid| pid.as_raw_nonzero().get() == told)?;
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
    Some(parent)
}

/// Runs this program again as a child and returns its exit code. Returns `None` if no child can be
/// started and the console has to run in this process.
pub(super) fn run_in_child() -> Option<i32> {
    let program = std::env::current_exe().ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    runtime.block_on(async {
        // Signals are collected before the child exists, so that none is lost.
        let mut heard = PassedSignals::new().ok()?;
        let spawned = Command::new(program)
            .args(std::env::args_os().skip(1))
            .env(OF, std::process::id().to_string())
            .spawn()
            .ok()?;
        Some(heard.accompany(Pid::from_child(&spawned)).await)
    })
}

/// The signals passed on to the child.
struct PassedSignals {
    terminate: Signals,
    hang_up: Signals,
    interrupt: Signals,
    quit: Signals,
    stop: Signals,
    proceed: Signals,
    /// The child ended, stopped or continued.
    child: Signals,
    /// The child continues without its parent.
    handed_over: Signals,
}

impl PassedSignals {
    fn new() -> std::io::Result<Self> {
        Ok(PassedSignals {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            stop: signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?,
            proceed: signal(SignalKind::from_raw(Signal::CONT.as_raw()))?,
            child: signal(SignalKind::child())?,
            handed_over: signal(SignalKind::user_defined1())?,
        })
    }

    /// Passes signals on until the child has ended, and returns its exit code.
    async fn accompany(&mut self, child: Pid) -> i32 {
        loop {
            match waitpid(Some(child), WaitOptions::UNTRACED | WaitOptions::NOHANG) {
                Ok(Some((_, status))) if status.stopped() => self.stop_as_well(child).await,
                Ok(Some((_, status))) => return code(status),
                Ok(None) | Err(rustix::io::Errno::INTR) => {
                    if let Some(signal) = self.next().await {
                        let _ = kill_process(child, signal);
                    }
                }
                Err(_) => return 1,
            }
        }
    }

    /// Waits for a signal to pass on, or returns `None` on news of the child.
    async fn next(&mut self) -> Option<Signal> {
        // A hang-up explains the other signals, so the child gets it first.
        tokio::select! {
            biased;
            _ = self.hang_up.recv() => Some(Signal::HUP),
            _ = self.terminate.recv() => Some(Signal::TERM),
            _ = self.interrupt.recv() => Some(Signal::INT),
            _ = self.quit.recv() => Some(Signal::QUIT),
            _ = self.stop.recv() => Some(Signal::TSTP),
            // Only this process was stopped. The terminal may have other modes now.
            _ = self.proceed.recv() => Some(Signal::CONT),
            _ = self.handed_over.recv() => std::process::exit(0),
            _ = self.child.recv() => None,
        }
    }

    /// Stops like the child, if a shell could continue both.
    async fn stop_as_well(&mut self, child: Pid) {
        if !can_be_continued() {
            return;
        }
        // The stop signal for the child may have been sent to this process too.
        while timeout(SENT_ALREADY, self.stop.recv()).await.is_ok() {}
        while timeout(Duration::ZERO, self.proceed.recv()).await.is_ok() {}
        let _ = kill_process(getpid(), Signal::STOP);
        // Continued, either by a shell, which continues both, or alone.
        let _ = kill_process(child, Signal::CONT);
        // A stop sent just before takes effect together with the continuation.
        let _ = timeout(STOP, self.proceed.recv()).await;
        let _ = timeout(Duration::ZERO, self.stop.recv()).await;
    }
}

fn code(status: WaitStatus) -> i32 {
    let signal = || status.terminating_signal().map(|s| 128 + s);
    status.exit_status().or_else(signal).unwrap_or(1)
}
