//! Applies the decisions of a policy to a deployment, on probation.

use std::time::Duration;

use divisi_engine::changes::PolicyChange;
use divisi_engine::deployment::{Generation, ServingNumber};
use divisi_modelless::placement::HostedInstances;
use divisi_session::ScalingChange;

use super::deciding::ScalingThread;
use super::evidence::{ChangeTrial, FailedChange, InstancesChange};
use super::hosted_models::HostedModels;
use super::live::LiveScaling;
use super::words;
use crate::routing::LiveRouter;

/// A decision to make.
struct Decided {
    wanted: HostedInstances,
    /// The change in words.
    what: String,
    how: PolicyChange,
}

impl ScalingThread {
    /// Applies the wanted instances, on probation.
    pub(super) fn apply(
        &mut self,
        scaling: &LiveScaling,
        running: &Generation,
        wanted: HostedInstances,
    ) {
        let before = self.scaler.hosted().clone();
        let what = words::difference(scaling.router.router().tasks(), &before, &wanted);
        let change = InstancesChange {
            before: &before,
            after: &wanted,
        };
        if !scaling.router.changes().is_judging() {
            self.evidence.end_trial();
        }
        let trial = self.evidence.trial(self.scaler.catalog(), change);
        let how = PolicyChange {
            decided_on: Some(self.known),
            watch: trial.as_ref().map(ChangeTrial::evidence),
            continues: self.evidence.is_on_trial(),
            rolls_back: None,
        };
        if self.change(scaling, running, Decided { wanted, what, how }) {
            self.evidence.begin(scaling.router.router().now(), trial);
        }
    }

    /// Rolls back a change that did worse. If that is refused, it is tried again later.
    pub(super) fn take_back(&mut self, now: Duration, scaling: &LiveScaling, running: &Generation) {
        let is_due = !self.scaler.is_refused(now);
        let Some(failed) = self.failed.take_if(|_| is_due) else {
            return;
        };
        let FailedChange { before, why } = &failed;
        let router = scaling.router.router();
        let what = words::difference(router.tasks(), self.scaler.hosted(), before);
        let how = PolicyChange {
            decided_on: Some(self.known),
            rolls_back: Some(why.clone()),
            ..PolicyChange::default()
        };
        let back = Decided {
            wanted: before.clone(),
            what: format!("rolled back: {what} ({why})"),
            how,
        };
        self.change(scaling, running, back);
        match self.scaler.is_refused(scaling.router.router().now()) {
            true => self.failed = Some(failed),
            false => self.evidence.rolled_back(),
        }
    }

    /// Applies the wanted instances and records the outcome. Returns whether the served variants
    /// changed.
    fn change(&mut self, scaling: &LiveScaling, running: &Generation, decided: Decided) -> bool {
        let Decided { wanted, what, how } = decided;
        let router = scaling.router.router();
        let (began, before) = (router.now(), self.scaler.hosted().clone());
        let served = serve(&scaling.router, running, &wanted, how);
        let now = router.now();
        match &served {
            Ok(serving) => {
                self.scaler.applied(now, wanted);
                self.known = serving.unwrap_or(self.known);
            }
            Err(_) => self.scaler.refused(now),
        }
        // If the members and batch sizes are the same, the running setup stays.
        let shares_alone = matches!(served, Ok(None));
        let is_served = matches!(served, Ok(Some(_)));
        let change = ScalingChange {
            at: running.engine.telemetry().now(),
            policy: self.scaler.choice().name().to_owned(),
            what,
            outcome: served.map(|_| now - began),
            shares_alone,
        };
        match shares_alone {
            true => self.note_shares(scaling, before, change),
            false => {
                self.shares_since = None;
                scaling.state.lock().record.change(change);
            }
        }
        is_served
    }

    /// Records a change that changed only shares, merged with similar changes before it.
    fn note_shares(
        &mut self,
        scaling: &LiveScaling,
        before: HostedInstances,
        change: ScalingChange,
    ) {
        let merges = self.shares_since.is_some();
        let since = self.shares_since.get_or_insert(before);
        let router = scaling.router.router();
        let what = words::difference(router.tasks(), since, self.scaler.hosted());
        let change = ScalingChange { what, ..change };
        scaling.state.lock().record.shares(change, merges);
    }
}

/// Applies instances to a deployment. Returns the number of the new setup, or `None` if the running
/// one stays.
fn serve(
    router: &LiveRouter,
    running: &Generation,
    wanted: &HostedInstances,
    how: PolicyChange,
) -> Result<Option<ServingNumber>, String> {
    let (deployment, current) = (router.deployment(), router.router());
    let (tasks, devices) = (current.tasks(), running.engine.devices());
    let arranged = HostedModels::new(tasks, deployment.name(), wanted, devices);
    let arranged = arranged.map_err(|why| why.to_string())?;
    let served = router
        .changes()
        .serve(&arranged.entries, &arranged.matrix, how);
    router.follow();
    served.map_err(|why| why.to_string())
}
