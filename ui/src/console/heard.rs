//! The signals that a console hears.

use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal as Kill;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

/// How far apart the signals arrive that are sent at once.
const SENT_TOGETHER: Duration = Duration::from_millis(50);
/// A signal that was sent already is heard within this.
const SENT_ALREADY: Duration = Duration::from_millis(2);
/// A stop takes effect within this, or was ignored.
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
    /// The program is to end.
    End,
    /// The terminal goes away.
    HungUp,
    /// The program is to stop until it is continued.
    Stop,
    /// The program was stopped and goes on.
    Proceed,
    /// The terminal has another size.
    Resized,
}

impl HeardSignals {
    /// Begins to listen.
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

    /// Waits for one that matters. A shell whose terminal goes away sends a stopped
    /// program several at once, of which the hang-up says what happened.
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

    /// Returns whether a hang-up arrives that was sent beside the last signal.
    pub(super) async fn hangs_up_as_well(&mut self) -> bool {
        timeout(SENT_TOGETHER, self.hang_up.recv()).await.is_ok()
    }

    /// Forgets requests to stop that were sent more than once: the program stops for all of them.
    pub(super) async fn forget_stops(&mut self) {
        while timeout(SENT_ALREADY, self.stop.recv()).await.is_ok() {}
    }

    /// Waits until the program was stopped and goes on, or was not stopped.
    pub(super) async fn proceed(&mut self) {
        let _ = timeout(STOP, self.proceed.recv()).await;
    }
}
