//! Stops offering variants that are unloaded right before the next engine takes over.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use divisi_engine::deployment::{Generation, HandoverObserver};
use divisi_runtime::lock::Leaf;

use crate::routing::LiveRouter;

/// An upper bound on the time between choosing a variant and the request to it.
const SUBMITTED: Duration = Duration::from_millis(20);

/// Tells a router which variants are unloaded once their replacements are loaded.
pub(super) struct VariantHandover {
    /// The deployment, which holds this observer, belongs to the router.
    router: Weak<LiveRouter>,
    leaving: Leaf<Vec<usize>>,
}

impl VariantHandover {
    pub(super) fn new(router: Weak<LiveRouter>) -> Self {
        VariantHandover {
            router,
            leaving: Leaf::new(Vec::new()),
        }
    }

    /// Sets the groups that the next change unloads.
    pub(super) fn leaving(&self, groups: Vec<usize>) {
        *self.leaving.lock() = groups;
    }
}

impl HandoverObserver for VariantHandover {
    fn retires(&self, _: &Arc<Generation>) {
        let leaving = std::mem::take(&mut *self.leaving.lock());
        if let Some(router) = self.router.upgrade().filter(|_| !leaving.is_empty()) {
            router.router().leave_out(&leaving);
            thread::sleep(SUBMITTED);
        }
    }

    fn ended(&self, _: &Generation) {}
}
