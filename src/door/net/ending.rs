//! The end of the server, as its connections are told of it.

use tokio::sync::watch;

/// Tells connections that the server ends.
#[derive(Clone)]
pub(crate) struct Ending(watch::Receiver<bool>);

impl Ending {
    /// Creates what tells and what is told.
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (tell, told) = watch::channel(false);
        (tell, Ending(told))
    }

    /// Returns whether the server ends.
    pub(crate) fn has_come(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the server ends.
    pub(crate) async fn comes(&mut self) {
        // Nobody there to tell it is the end, too.
        let _ = self.0.wait_for(|ends| *ends).await;
    }
}
