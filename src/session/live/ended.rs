//! The end of a session's parts: those of earlier engines, and its deployment.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use divisi_engine::deployment::Deployment;

use super::engine_session::EngineSession;

/// Notifies a deployment when its operator exits.
pub(super) struct LeavesDeployment(pub Arc<Deployment>);

/// The sessions of earlier engines, which end in the background. Dropping it waits for them, because
/// they hold the deployment.
#[derive(Default)]
pub(super) struct EndedSessions(Vec<JoinHandle<()>>);

impl EndedSessions {
    /// Ends a session in the background.
    pub(super) fn end(&mut self, session: EngineSession) {
        self.0.retain(|thread| !thread.is_finished());
        let ended = thread::Builder::new().name("ended".into());
        // Without a thread, the session ends here.
        self.0.extend(ended.spawn(move || drop(session)));
    }
}

impl Drop for EndedSessions {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // A session that panicked is over.
            let _ = thread.join();
        }
    }
}

impl Drop for LeavesDeployment {
    fn drop(&mut self) {
        self.0.leave();
    }
}
