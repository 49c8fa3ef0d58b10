//! Follows the registrations of the served tasks: see [`RegistrationFollower`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use divisi_engine::changes::PolicyChange;
use divisi_engine::deployment::Generation;
use divisi_engine::serving::EngineOptions;
use divisi_model::ensemble::Ensemble;
use divisi_registry::records::{RecordedSource, StaleProfile};
use divisi_registry::store::StoreContents;

use crate::routing::{LiveRouter, TaskRouter};
use crate::served::{ServedTasks, ServedTasksError};

/// The time until changes that could not be served are tried again.
const RETRY: Duration = Duration::from_secs(10);

/// The store of the registrations that a server follows.
pub trait TaskRegistrations: Send + Sync {
    /// Returns whether the store may have been written since [`TaskRegistrations::contents`] last
    /// read it. It is called once a second and must be quick.
    fn is_written(&self) -> bool;

    /// Reads the store. Returns `None` if another program writes it; the store then still counts as
    /// written.
    ///
    /// # Errors
    /// Returns the reason if the store cannot be read.
    fn contents(&self) -> Result<Option<Arc<StoreContents>>, String>;

    /// Reads an ensemble again from its recorded place.
    ///
    /// # Errors
    /// The ensemble cannot be read.
    fn read_again(&self, source: &RecordedSource) -> Result<Ensemble, StaleProfile>;
}

/// Serves tasks as they are registered now.
pub(super) struct RegistrationFollower {
    registrations: Option<Arc<dyn TaskRegistrations>>,
    /// The last reported error, so that it is reported once.
    reported: Option<String>,
    /// The time from which changes that could not be served are tried again.
    retry_at: Option<Duration>,
}

impl RegistrationFollower {
    /// Creates a follower of some registrations, or of none.
    pub(super) fn new(registrations: Option<Arc<dyn TaskRegistrations>>) -> Self {
        RegistrationFollower {
            registrations,
            reported: None,
            retry_at: None,
        }
    }

    /// Returns whether the registrations may have changed, or changes could not be served some time
    /// ago.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        let mut registrations = self.registrations.iter();
        match self.retry_at {
            Some(at) => now >= at,
            None => registrations.any(|registrations| registrations.is_written()),
        }
    }

    /// Opens the tasks again if their registrations changed.
    ///
    /// # Errors
    /// Returns the reason if the store or the tasks cannot be read.
    pub(super) fn changed(&self, live: &LiveRouter) -> Result<Option<ServedTasks>, String> {
        let Some(registrations) = &self.registrations else {
            return Ok(None);
        };
        let Some(contents) = registrations.contents()? else {
            return Ok(None);
        };
        let (router, running) = (live.router(), live.deployment().running());
        let read = |source: &RecordedSource| registrations.read_again(source);
        let reopened = router
            .tasks()
            .reopened(&contents, running.engine.devices(), &read);
        reopened.map_err(|why| why.to_string())
    }

    /// Serves changed tasks. Returns their router, or `None` if the earlier variants stay.
    pub(super) fn serve(
        &mut self,
        live: &LiveRouter,
        changed: Result<Option<ServedTasks>, String>,
    ) -> Option<Arc<TaskRouter>> {
        let served = changed.and_then(|tasks| match tasks {
            Some(tasks) => replace(live, Arc::new(tasks)).map(Some),
            None => Ok(None),
        });
        match served {
            Ok(served) => {
                (self.reported, self.retry_at) = (None, None);
                served
            }
            Err(why) => {
                self.retry_at = Some(live.router().now() + RETRY);
                self.report(live, why);
                None
            }
        }
    }

    fn report(&mut self, live: &LiveRouter, why: String) {
        if self.reported.as_ref() != Some(&why) {
            tracing::warn!(%why, "cannot follow the registrations of the tasks");
            live.deployment().note(format!(
                "the changed registrations are not served, the earlier ones are: {why}"
            ));
            self.reported = Some(why);
        }
    }
}

/// Replaces the served tasks: a new engine loads the variants, and queries go to them as soon as it
/// runs. Returns the new router.
fn replace(live: &LiveRouter, tasks: Arc<ServedTasks>) -> Result<Arc<TaskRouter>, String> {
    let before = live.router();
    let next = Arc::new(TaskRouter::after(&before, Arc::clone(&tasks)));
    live.prepare(Arc::clone(&next));
    if !tasks.entries().is_empty()
        && let Err(why) = load(live, &tasks)
    {
        live.withdraw_next();
        return Err(why);
    }
    live.follow();
    for remark in remarks(before.tasks(), &tasks) {
        tracing::info!("{remark}");
        live.deployment().note(remark);
    }
    Ok(next)
}

/// Loads the variants of tasks.
fn load(live: &LiveRouter, tasks: &ServedTasks) -> Result<(), String> {
    let running: Arc<Generation> = live.deployment().running();
    let matrix = tasks.first_matrix(running.engine.devices(), EngineOptions::default());
    let matrix = matrix.map_err(|why: ServedTasksError| why.to_string())?;
    let served = live
        .changes()
        .serve(tasks.entries(), &matrix, PolicyChange::default());
    served.map(drop).map_err(|why| why.to_string())
}

/// Returns the remarks on changed tasks: the variants of each one, and ensembles and tasks that are
/// not served.
fn remarks(before: &ServedTasks, now: &ServedTasks) -> Vec<String> {
    let catalog = now.catalog();
    let tasks = now.names().filter(|(_, name)| !before.has_same(now, name));
    let tasks = tasks.map(|(task, name)| {
        let (variants, models) = (catalog.range(task).len(), catalog.models(task).join(", "));
        format!("task `{name}` was registered again: {variants} variants of {models} are served")
    });
    let known: BTreeSet<String> = before.remarks().collect();
    let new = now.remarks().filter(|remark| !known.contains(remark));
    tasks.chain(new).collect()
}
