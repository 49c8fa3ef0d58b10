//! The shutdown signal for connections.

use tokio::sync::watch;

/// Signals connections that the server shuts down.
#[derive(Clone)]
pub(crate) struct Ending(watch::Receiver<bool>);

impl Ending {
    /// Creates the sender and the receiver of the signal.
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (tell, told) = watch::channel(false);
        (tell, Ending(told))
    }

    /// Returns whether the server is shutting down.
    pub(crate) fn has_come(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the server shuts down.
    pub(crate) async fn wait(&mut self) {
        // A dropped sender also means shutdown.
        let _ = self.0.wait_for(|ends| *ends).await;
    }
}
