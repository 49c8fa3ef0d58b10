//! The router for the successive engines of a deployment.

use std::collections::BTreeMap;
use std::sync::Arc;

use divisi_engine::changes::Changes;
use divisi_engine::deployment::{Deployment, Generation};
use divisi_registry::registration::kind_name;
use divisi_runtime::lock::Leaf;

use super::costs::{CostWindow, PaidCosts, TaskCost};
use super::counts::TaskCounts;
use super::loads::LoadRequests;
use super::router::TaskRouter;
use crate::served::{RunningVariant, ServedTasks};

/// A router that follows the running variants of a deployment, and the registrations of its tasks.
pub struct LiveRouter {
    changes: Arc<Changes>,
    routers: Leaf<Routers>,
    paid: Leaf<PaidCosts>,
    window: Leaf<CostWindow>,
    loads: Arc<LoadRequests>,
}

/// The routers of successive registrations.
struct Routers {
    current: Arc<TaskRouter>,
    /// The router of the next registration, until an engine runs its variants.
    next: Option<Arc<TaskRouter>>,
    /// Earlier routers whose last queries may be under way.
    retired: Vec<Arc<TaskRouter>>,
    /// The counts of the other earlier routers.
    counts: TaskCounts,
}

impl LiveRouter {
    /// Creates a router for the current and future engines of a deployment.
    pub fn new(changes: Arc<Changes>, router: Arc<TaskRouter>) -> Self {
        let live = LiveRouter {
            changes,
            routers: Leaf::new(Routers {
                current: router,
                next: None,
                retired: Vec::new(),
                counts: TaskCounts::default(),
            }),
            paid: Leaf::default(),
            window: Leaf::default(),
            loads: Arc::default(),
        };
        live.pay(&live.router());
        live
    }

    /// Returns the variants that arriving queries need.
    pub fn loads(&self) -> &Arc<LoadRequests> {
        &self.loads
    }

    /// Returns the router of the current registrations.
    pub fn router(&self) -> Arc<TaskRouter> {
        Arc::clone(&self.routers.lock().current)
    }

    /// Returns the deployment.
    pub fn deployment(&self) -> &Arc<Deployment> {
        self.changes.deployment()
    }

    /// Returns the changes of the deployment.
    pub fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }

    /// Updates the running variants if they changed. Returns the router of the running engine.
    pub fn follow(&self) -> Arc<TaskRouter> {
        // Another thread may set the variants of an earlier engine: repeat until the router follows
        // the running engine.
        loop {
            let running = self.changes.running();
            let router = self.router_for(&running);
            // Read before the matrix: a later matrix has another number.
            let now = running.serving();
            if router.follows(now) {
                return router;
            }
            router.follow(now, running_variants(router.tasks(), &running));
        }
    }

    /// Returns the router of an engine: the next one as soon as its variants run.
    fn router_for(&self, running: &Generation) -> Arc<TaskRouter> {
        let mut routers = self.routers.lock();
        let runs = |next: &mut Arc<TaskRouter>| next.tasks().is_served_by(&running.catalogue);
        match routers.next.take_if(runs) {
            None => Arc::clone(&routers.current),
            Some(next) => {
                let before = std::mem::replace(&mut routers.current, Arc::clone(&next));
                routers.retired.push(before);
                drop(routers);
                self.pay(&next);
                next
            }
        }
    }

    /// Sets the router to which queries go as soon as an engine runs its variants, or at once if it
    /// has no tasks.
    pub(crate) fn prepare(&self, next: Arc<TaskRouter>) {
        self.routers.lock().next = Some(next);
        self.follow();
    }

    /// Forgets the next router: its variants cannot be loaded.
    pub(crate) fn withdraw_next(&self) {
        self.routers.lock().next = None;
    }

    /// Pays for the devices at the prices of a router's tasks from now on.
    fn pay(&self, router: &TaskRouter) {
        let running = self.changes.running();
        let kinds = running.engine.devices().iter().map(kind_name);
        let prices = router.tasks().catalog().devices();
        let mut paid = self.paid.lock();
        paid.pay(router.now(), kinds, prices);
    }

    /// Returns the counts of all queries since the start, also of tasks as they were registered
    /// before.
    pub fn counts(&self) -> TaskCounts {
        let (mut counts, routers) = {
            let routers = self.routers.lock();
            let all = routers.retired.iter().chain([&routers.current]).cloned();
            (routers.counts.clone(), all.collect::<Vec<_>>())
        };
        let all = routers.iter();
        all.for_each(|router| counts.add(TaskCounts::from_router(router)));
        counts
    }

    /// Returns the money paid for each kind of device since the start.
    pub fn paid(&self) -> BTreeMap<String, f64> {
        let now = self.router().now();
        self.paid.lock().until(now)
    }

    /// Returns the cost of a task's queries in the last minute, or `None` if none were answered.
    pub fn cost(&self, task: &str) -> Option<TaskCost> {
        self.window.lock().cost(task)
    }

    /// Adds a second to the costs, and keeps only the counts of routers without queries.
    pub(crate) fn count_second(&self) {
        self.fold_retired();
        let (router, counts) = (self.router(), self.counts());
        let paid = self.paid().values().sum();
        let mut window = self.window.lock();
        window.add(router.now(), paid, &counts);
    }

    fn fold_retired(&self) {
        let retired = self.routers.lock().retired.clone();
        for router in retired {
            // One reference is in the list and one here. Queries under way have another one.
            if Arc::strong_count(&router) > 2 {
                continue;
            }
            let counts = TaskCounts::from_router(&router);
            let mut routers = self.routers.lock();
            routers.retired.retain(|other| !Arc::ptr_eq(other, &router));
            routers.counts.add(counts);
        }
    }
}

/// Returns the variants of tasks that a generation runs.
pub(crate) fn running_variants(tasks: &ServedTasks, running: &Generation) -> Vec<RunningVariant> {
    let engine = &running.engine;
    tasks.running(&running.catalogue, &engine.matrix(), engine.devices())
}
