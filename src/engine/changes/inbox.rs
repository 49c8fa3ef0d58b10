//! The inbox of the thread that makes changes.

use std::collections::VecDeque;
use std::sync::{Condvar, Weak};
use std::time::Duration;

use crate::deployment::ChangePlan;
use crate::serving::{Engine, Leaf, Loss};

use super::event::ChangeWork;

/// The jobs of the thread. Losses are queued here first, because drivers report them while engine
/// locks are held.
#[derive(Default)]
pub(super) struct Inbox {
    mail: Leaf<Mail>,
    came: Condvar,
}

/// Queued jobs.
#[derive(Default)]
pub(super) struct Mail {
    /// Lost devices, with the engine that lost them.
    pub(super) losses: VecDeque<(Weak<Engine>, Loss)>,
    pub(super) work: Option<Box<PlannedWork>>,
    pub(super) look_at: Option<Duration>,
    /// Whether no more jobs will be queued.
    pub(super) is_over: bool,
}

/// Work with the requested plan, or `None` if it is planned together with the change.
pub(super) struct PlannedWork {
    pub(super) work: ChangeWork,
    pub(super) plan: Option<ChangePlan>,
}

/// The longest time that the thread waits before it checks for jobs again.
const IDLE: Duration = Duration::from_secs(3600);

/// A job of the thread.
pub(super) enum ChangeJob {
    Loss(Weak<Engine>, Loss),
    Work(Box<PlannedWork>),
    Look,
}

impl Inbox {
    /// Adds a job and wakes the thread.
    pub(super) fn put(&self, change: impl FnOnce(&mut Mail)) {
        change(&mut self.mail.lock());
        self.came.notify_all();
    }

    /// Waits for a job. Returns `None` after the last one.
    pub(super) fn next(&self, now: impl Fn() -> Duration) -> Option<ChangeJob> {
        let mut mail = self.mail.lock();
        loop {
            if let Some((of, loss)) = mail.losses.pop_front() {
                return Some(ChangeJob::Loss(of, loss));
            }
            if let Some(work) = mail.work.take() {
                return Some(ChangeJob::Work(work));
            }
            if mail.is_over {
                return None;
            }
            let wait = mail.look_at.map(|at| at.saturating_sub(now()));
            if wait == Some(Duration::ZERO) {
                mail.look_at = None;
                return Some(ChangeJob::Look);
            }
            mail = mail.wait_timeout(&self.came, wait.unwrap_or(IDLE));
        }
    }
}
