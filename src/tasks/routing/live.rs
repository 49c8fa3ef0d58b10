//! The router beside the engines that follow one another.

use std::sync::Arc;

use divisi_engine::deployment::Deployment;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::variants::TaskIndex;

use super::error::RoutingError;
use super::query::RoutedQuery;
use super::router::TaskRouter;
use crate::served::TaskQuery;

/// A router that knows which variants a deployment runs.
pub struct LiveRouter {
    deployment: Arc<Deployment>,
    router: Arc<TaskRouter>,
}

impl LiveRouter {
    /// Creates a router of what a deployment runs, now and later.
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
    /// As [`TaskRouter::route`].
    pub fn route(
        &self,
        task: TaskIndex,
        goals: &QueryGoals,
        samples: u32,
    ) -> Result<RoutedQuery, RoutingError> {
        self.follow();
        self.router.route(task, goals, samples)
    }

    /// Chooses the variant that answers a query, which may name a priority of its own.
    ///
    /// # Errors
    /// As [`TaskRouter::route`].
    pub fn route_query(&self, query: TaskQuery<'_>) -> Result<RoutedQuery, RoutingError> {
        self.follow();
        self.router.route_query(query)
    }

    /// Tells the router which variants run, where that changed, or it was told to leave some out.
    pub fn refresh(&self) {
        self.router.forget_serving();
        self.follow();
    }

    /// Tells the router which variants run, where that changed.
    pub fn follow(&self) {
        // Another thread may tell it of an engine that came before: until it knows what runs now.
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
