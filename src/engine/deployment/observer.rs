//! Who is told of engines that follow one another.

use std::sync::Arc;

use crate::serving::SharedLeaf;

use super::Generation;

/// Told of each generation that another one follows.
pub trait HandoverObserver: Send + Sync {
    /// `generation` answers what it has, and takes nothing more: another one does, or will.
    fn retires(&self, generation: &Arc<Generation>);

    /// `generation` has ended; nothing that it counts changes any more.
    fn ended(&self, generation: &Generation);
}

/// Those who are told, in the order in which they came.
#[derive(Clone, Default)]
pub(super) struct Observers(Arc<SharedLeaf<Vec<Arc<dyn HandoverObserver>>>>);

impl Observers {
    pub(super) fn add(&self, observer: Arc<dyn HandoverObserver>) {
        self.0.write().push(observer);
    }

    /// Tells all of them, each without a lock.
    fn tell(&self, what: impl Fn(&dyn HandoverObserver)) {
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
