//! Applies plans. With other models, the next engine starts next to the old one, or the old engine
//! ends first.
//!
//! A change is refused if memory does not hold both engines, unless its caller lets the old engine
//! end first. Requests then wait; if the new models do not start, the old ones start again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::serving::{ApplyStep, Setup};
use divisi_model::catalogue::{CatalogueEntry, ModelCopy, NewEntry, ServedCopies};

use super::archive::KeptModels;
use super::generation::{retire, start_after};
use super::plan::{ChangePlan, ModelsPlan, NextModels, PlanKind};
use super::wanted::{ModelsToPlan, entries_of};
use super::{
    Applied, CatalogueChange, Deployment, DeploymentError, Generation, Handover, WantedNames,
    warmup, wish,
};

/// The reasons why models are not served as their files specify, by model name.
type Failures = BTreeMap<String, String>;

/// The remark about a change that waits for the previous one.
const LATE: &str = "the previous models still answer requests: the change waits for them";

/// The outcome of an attempt to switch.
enum Switched {
    /// The next engine is serving.
    To(Applied),
    /// A model failed its warm-up. The running engine stays.
    Cold,
}

/// The next engine, planned.
struct NextEngine<'a> {
    models: &'a NextModels,
    setup: &'a Setup,
    /// Whether a lost device goes first. The caller then plans again.
    yields: bool,
}

/// How a plan is applied.
#[derive(Clone, Copy)]
struct HowApplied {
    handover: Handover,
    /// See [`NextEngine::yields`].
    yields: bool,
}

impl Deployment {
    /// Applies a planned change, without the models that fail their warm-up. Calls `watch` with
    /// each step of changed workers. The copies `held` stay out.
    ///
    /// # Errors
    /// Something else runs than when the plan was made, a lost device has to be evacuated first, the
    /// engines do not fit side by side, or the new engine or a worker does not start. The previous
    /// setup serves.
    pub(crate) fn apply(
        &self,
        plan: ChangePlan,
        handover: Handover,
        held: &[ModelCopy],
        watch: &mut dyn FnMut(ApplyStep),
    ) -> Result<Applied, DeploymentError> {
        let how = HowApplied {
            handover,
            yields: true,
        };
        self.apply_as(plan, how, held, watch)
    }

    fn apply_as(
        &self,
        plan: ChangePlan,
        how: HowApplied,
        held: &[ModelCopy],
        watch: &mut dyn FnMut(ApplyStep),
    ) -> Result<Applied, DeploymentError> {
        let mut plan = match plan.work {
            PlanKind::Setup(plan) => {
                self.running().engine.apply(*plan, watch)?;
                return Ok(Applied::default());
            }
            PlanKind::Models(_) => plan,
        };
        let wanted = &mut self.changing.lock();
        loop {
            let PlanKind::Models(models) = plan.work else {
                return Err(DeploymentError::Stale);
            };
            let (change, read) = (models.change.clone(), models.state.clone());
            match self.try_apply(wanted, &plan.new, *models, how)? {
                Switched::To(applied) => return Ok(applied),
                Switched::Cold => {
                    let again = self.plan_again(wanted, change, &plan.new, read.as_ref(), held);
                    plan = again?;
                }
            }
        }
    }

    /// Plans and applies a setup without another change in between. `handover` counts only if the
    /// engines of other models do not fit side by side.
    ///
    /// # Errors
    /// The setup cannot be applied, or a worker does not start. The previous setup serves.
    pub(crate) fn apply_setup(
        &self,
        to: &Setup,
        handover: Handover,
        watch: &mut dyn FnMut(ApplyStep),
    ) -> Result<Applied, DeploymentError> {
        let running = self.running();
        match running.serves(to) {
            true => {
                running.engine.apply_setup(to, watch)?;
                Ok(Applied::default())
            }
            false => {
                let plan = self.plan(to)?;
                let handover = match plan.fits_beside() {
                    true => Handover::Beside,
                    false => handover,
                };
                let how = HowApplied {
                    handover,
                    // A rollback is not planned again.
                    yields: false,
                };
                self.apply_as(plan, how, &[], watch)
            }
        }
    }

    /// Forgets the models of setups other than these; they can no longer be planned.
    pub(crate) fn keep_only(&self, setups: &[ServedCopies]) {
        self.archive.lock().keep_only(setups);
    }

    /// Plans the same change after a model failed its warm-up.
    fn plan_again(
        &self,
        wanted: &mut WantedNames,
        change: Option<CatalogueChange>,
        to: &Setup,
        after: Option<&super::ReadState>,
        held: &[ModelCopy],
    ) -> Result<ChangePlan, DeploymentError> {
        match &change {
            Some(change) => self.plan_change(
                wanted,
                ModelsToPlan {
                    change,
                    after,
                    held,
                },
            ),
            None => self.plan_kept(wanted, &self.running(), to),
        }
    }

    fn try_apply(
        &self,
        wanted: &mut WantedNames,
        setup: &Setup,
        plan: ModelsPlan,
        how: HowApplied,
    ) -> Result<Switched, DeploymentError> {
        let running = self.running();
        if plan.from != running.number {
            return Err(DeploymentError::Stale);
        }
        let mut applied = Applied::default();
        if let Some(models) = plan.next {
            let past = past_of(wanted, &running);
            let next = NextEngine {
                models: &models,
                setup,
                yields: how.yields,
            };
            applied = match self.switch(wanted, &running, &next, how.handover)? {
                Switched::To(applied) => applied,
                Switched::Cold => return Ok(Switched::Cold),
            };
            self.archive.lock().keep(past);
        }
        if let (Some(source), Some(state)) = (&self.source, &plan.state) {
            source.serves(state);
        }
        self.note_failures(&wanted.failures, &plan.failures);
        (wanted.names, wanted.failures) = (plan.names, plan.failures);
        self.tell(wanted);
        if let Some(CatalogueChange::Load(name)) = &plan.change
            && let Some(reason) = wanted.failures.get(name)
        {
            return Err(DeploymentError::failed(name, reason));
        }
        Ok(Switched::To(applied))
    }

    fn switch(
        &self,
        wanted: &mut WantedNames,
        running: &Arc<Generation>,
        next: &NextEngine<'_>,
        handover: Handover,
    ) -> Result<Switched, DeploymentError> {
        // Two generations run side by side at most.
        if let Some(retiring) = wanted.retiring.take() {
            let faults = running.engine.faults();
            let late = || self.note(LATE.to_owned());
            let gives_up = || next.yields && faults.is_loss_awaited();
            wanted.retiring = retiring.wait(late, gives_up);
            if wanted.retiring.is_some() {
                // A lost device does not wait for the old answers.
                return Err(DeploymentError::Stale);
            }
        }
        match (handover, &next.models.not_beside) {
            (Handover::OldFirst, _) => self.switch_old_first(running, next).map(Switched::To),
            (Handover::Beside, Some(room)) => Err(room.clone().into()),
            (Handover::Beside, None) => self.switch_beside(wanted, running, next),
        }
    }

    fn switch_beside(
        &self,
        wanted: &mut WantedNames,
        running: &Arc<Generation>,
        next: &NextEngine<'_>,
    ) -> Result<Switched, DeploymentError> {
        let started = self.start_next(running, next)?;
        let before = entries_of(running);
        let cold = self.warmed_up(&started, &before)?;
        if !cold.is_empty() {
            started.engine.shutdown();
            wanted.cold.note(&entries_of(&started), &cold);
            self.keep_notices(&mut warmup::remarks(&cold).collect());
            return Ok(Switched::Cold);
        }
        started.go_on_with(running);
        self.remark_on_wishes(&started, &before);
        self.observers.retires(running);
        *self.running.write() = Arc::new(started);
        wanted.retiring = Some(retire(running, &self.leaving, &self.observers));
        Ok(Switched::To(Applied::default()))
    }

    /// Warms up an engine, or ends it if the server is ending.
    fn warmed_up(
        &self,
        started: &Generation,
        before: &[NewEntry],
    ) -> Result<BTreeMap<String, String>, DeploymentError> {
        let cold = warmup::warm_up(started, before, &self.leaving);
        cold.inspect_err(|_| started.engine.shutdown())
    }

    fn start_next(
        &self,
        before: &Generation,
        next: &NextEngine<'_>,
    ) -> Result<Generation, DeploymentError> {
        let catalogue = Arc::clone(&next.models.catalogue);
        start_after(before, catalogue, &self.devices, next.setup, self.options)
    }

    /// Starts an engine with the setup of the ended one.
    fn start_again(&self, ended: &Generation, ran: &Setup) -> Result<Generation, DeploymentError> {
        let catalogue = Arc::clone(&ended.catalogue);
        start_after(ended, catalogue, &self.devices, ran, self.options)
    }

    /// Ends the old engine after its last answer, then starts the new one. Clients wait in between.
    fn switch_old_first(
        &self,
        running: &Arc<Generation>,
        next: &NextEngine<'_>,
    ) -> Result<Applied, DeploymentError> {
        if self.leaving.load(Ordering::Acquire) {
            return Err(DeploymentError::Ending);
        }
        // Read now, because the policy changes while the engine ends.
        let ran = running.engine.setup();
        self.observers.tell(|one| one.between(true));
        let waiting = self.gap.begin();
        let began = Instant::now();
        self.observers.retires(running);
        running.end(&self.leaving, &self.observers);
        let warm = |started: Generation| {
            let cold = self.warmed_up(&started, &entries_of(running))?;
            let Some((name, reason)) = cold.iter().next() else {
                return Ok(started);
            };
            started.engine.shutdown();
            Err(DeploymentError::failed(name, reason))
        };
        let started = self.start_next(running, next);
        let (started, failed) = match started.and_then(warm) {
            Ok(next) => (Ok(next), None),
            Err(error) => (self.start_again(running, &ran), Some(error)),
        };
        let started = started.map(|generation| {
            generation.go_on_with(running);
            *self.running.write() = Arc::new(generation);
        });
        let gap = began.elapsed();
        drop(waiting);
        self.observers.tell(|one| one.between(false));
        match (started, failed) {
            (Ok(()), None) => Ok(Applied { gap: Some(gap) }),
            (Ok(()), Some(error)) => Err(DeploymentError::CameBack {
                reason: error.to_string(),
                gap,
            }),
            (Err(error), None) => Err(error),
            (Err(error), Some(failed)) => {
                self.note(format!("the new models did not start: {failed}"));
                Err(error)
            }
        }
    }

    /// Keeps a remark for each model that cannot be read now, unless `before` has the same reason.
    fn note_failures(&self, before: &Failures, now: &Failures) {
        let catalogue = &self.running().catalogue;
        let new = now
            .iter()
            .filter(|(name, why)| before.get(*name) != Some(why));
        let remarks = new.map(|(name, why)| match catalogue.find(name, None) {
            Some(_) => format!("model `{name}` is served as before: {why}"),
            None => format!("model `{name}` is not served: {why}"),
        });
        self.keep_notices(&mut remarks.collect());
    }

    fn remark_on_wishes(&self, started: &Generation, before: &[NewEntry]) {
        let is_new = |entry: &&CatalogueEntry| {
            let same = |old: &NewEntry| Arc::ptr_eq(&old.ensemble, entry.ensemble());
            !before.iter().any(same)
        };
        let new = started.catalogue.entries().iter().filter(is_new);
        let remarks = new.flat_map(|entry| {
            wish::instance_remarks(entry.name(), entry.instances(), &self.devices)
        });
        self.keep_notices(&mut remarks.collect());
    }
}

/// Returns the served models, to restore them later.
fn past_of(wanted: &WantedNames, running: &Generation) -> KeptModels {
    KeptModels {
        copies: Arc::clone(running.catalogue.copies()),
        names: wanted.names.clone(),
        failures: wanted.failures.clone(),
        entries: entries_of(running),
    }
}
