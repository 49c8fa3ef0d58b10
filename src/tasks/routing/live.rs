//! The router for the successive engines of a deployment.

use std::sync::Arc;

use divisi_engine::deployment::Deployment;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::variants::TaskIndex;

use super::error::RoutingError;
use super::query::RoutedQuery;
use super::router::TaskRouter;
use crate::served::TaskQuery;

/// A router that follows the running variants of a deployment.
pub struct LiveRouter {
    deployment: Arc<Deployment>,
    router: Arc<TaskRouter>,
}

impl LiveRouter {
    /// Creates a router for the current and future engines of a deployment.
    pub fn new(deployment: Arc<Deployment>, router: Arc<TaskRouter>) -> Self {
        LiveRouter { deployment, router }
    }

    /// Returns the router.
    pub fn router(&self) -> &Arc<TaskRouter> {
        &self.router
    }

    /// Returns the deployment.
    pub fn deployment(&self) -> &Arc<Deployment> {
        &self.deployment
    }

    /// Chooses the variant that answers a query.
    ///
    /// # Errors
    /// Returns the errors of [`TaskRouter::route`].
    pub fn route(
        &self,
        task: TaskIndex,
        goals: &QueryGoals,
        samples: u32,
    ) -> Result<RoutedQuery, RoutingError> {
        self.follow();
        self.router.route(task, goals, samples)
    }

    /// Chooses the variant that answers a query, which may have its own priority.
    ///
    /// # Errors
    /// Returns the errors of [`TaskRouter::route`].
    pub fn route_query(&self, query: TaskQuery<'_>) -> Result<RoutedQuery, RoutingError> {
        self.follow();
        self.router.route_query(query)
    }

    /// Updates the running variants if they changed or variants were left out.
    pub fn refresh(&self) {
        self.router.forget_serving();
        self.follow();
    }

    /// Updates the running variants if they changed.
    pub fn follow(&self) {
        // Another thread may set the variants of an earlier engine: repeat until the router follows
        // the running engine.
        loop {
            let running = self.deployment.running();
            let now = (running.number, running.engine.matrix());
            if self.router.follows(&now) {
                return;
            }
            let (tasks, devices) = (self.router.tasks(), running.engine.devices());
            let variants = tasks.running(&running.catalogue, &now.1, devices);
            self.router.follow(now, variants);
        }
    }
}
