//! Observers of a deployment: they learn when an engine retires and when it has ended.
//!
//! The counters of `/metrics` use this to continue from one engine to the next.

use std::sync::Arc;

use crate::serving::SharedLeaf;

use super::Generation;

/// Observes each generation that another one replaces.
pub trait HandoverObserver: Send + Sync {
    /// `generation` answers its remaining requests and takes no more. Another generation takes
    /// over, or will.
    fn retires(&self, generation: &Arc<Generation>);

    /// `generation` has ended, and its counters are final.
    fn ended(&self, generation: &Generation);

    /// From now on no engine takes requests (`true`), or one does again.
    fn between(&self, begins: bool) {
        let _ = begins;
    }
}

/// The observers, in the order of registration.
#[derive(Clone, Default)]
pub(super) struct Observers(Arc<SharedLeaf<Vec<Arc<dyn HandoverObserver>>>>);

impl Observers {
    pub(super) fn add(&self, observer: Arc<dyn HandoverObserver>) {
        self.0.write().push(observer);
    }

    /// Notifies all observers without holding a lock.
    pub(super) fn tell(&self, what: impl Fn(&dyn HandoverObserver)) {
        let all = self.0.read().clone();
        all.iter().for_each(|one| what(&**one));
    }

    pub(super) fn retires(&self, generation: &Arc<Generation>) {
        self.tell(|one| one.retires(generation));
    }

    pub(super) fn ended(&self, generation: &Generation) {
        self.tell(|one| one.ended(generation));
    }
}
