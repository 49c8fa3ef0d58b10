//! The signals of the console.

use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal as Kill;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

/// The time within which signals sent together arrive.
const SENT_TOGETHER: Duration = Duration::from_millis(50);
/// The time within which an already sent signal arrives.
const SENT_ALREADY: Duration = Duration::from_millis(2);
/// The time within which a stop takes effect; later it counts as ignored.
const STOP: Duration = Duration::from_millis(300);

/// The signals that end, stop or continue the program, or resize its terminal.
pub(super) struct HeardSignals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
    quit: Signal,
    stop: Signal,
    proceed: Signal,
    resize: Signal,
}

/// The meaning of a signal.
pub(super) enum HeardSignal {
    /// The program ends.
    End,
    /// The terminal has gone.
    HungUp,
    /// The program stops until it is continued.
    Stop,
    /// The program was stopped and continues.
    Proceed,
    /// The size of the terminal changed.
    Resized,
}

impl HeardSignals {
    /// Starts receiving signals.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(HeardSignals {
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            interrupt: listen(SignalKind::interrupt())?,
            quit: listen(SignalKind::quit())?,
            stop: listen(SignalKind::from_raw(Kill::TSTP.as_raw()))?,
            proceed: listen(SignalKind::from_raw(Kill::CONT.as_raw()))?,
            resize: listen(SignalKind::window_change())?,
        })
    }

    /// Waits for a signal that matters. When its terminal goes away, a shell sends a stopped
    /// program several signals at once; the hang-up explains the others.
    pub(super) async fn next(&mut self) -> HeardSignal {
        tokio::select! {
            biased;
            _ = self.hang_up.recv() => HeardSignal::HungUp,
            _ = self.terminate.recv() => HeardSignal::End,
            _ = self.interrupt.recv() => HeardSignal::End,
            _ = self.quit.recv() => HeardSignal::End,
            _ = self.proceed.recv() => HeardSignal::Proceed,
            _ = self.stop.recv() => HeardSignal::Stop,
            _ = self.resize.recv() => HeardSignal::Resized,
        }
    }

    /// Returns whether a hang-up arrives together with the last signal.
    pub(super) async fn hangs_up_as_well(&mut self) -> bool {
        timeout(SENT_TOGETHER, self.hang_up.recv()).await.is_ok()
    }

    /// Discards further stop requests, since one stop covers all of them.
    pub(super) async fn forget_stops(&mut self) {
        while timeout(SENT_ALREADY, self.stop.recv()).await.is_ok() {}
        while timeout(Duration::ZERO, self.proceed.recv()).await.is_ok() {}
    }

    /// Waits until the program was stopped and continued, or was not stopped.
    pub(super) async fn proceed(&mut self) {
        let _ = timeout(STOP, self.proceed.recv()).await;
        // A stop request from before the stop has arrived by now; later ones count again.
        let _ = timeout(Duration::ZERO, self.stop.recv()).await;
    }
}
