//! From one engine to the next: both run side by side, or the old engine ends first.
//!
//! A change is refused if memory does not hold both engines, unless its caller lets the old engine
//! end first. Requests then wait; if the new models do not start, the old ones start again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::serving::Setup;
use divisi_model::catalogue::{CatalogueEntry, NewEntry};

use super::generation::{StartSettings, retire, start_after};
use super::plan::{NextCatalogue, PastCatalogue};
use super::wanted::entries_of;
use super::{
    Applied, CatalogueChange, CataloguePlan, Deployment, DeploymentError, Generation, Handover,
    MOST_PAST, REDO, UNDO, WantedNames, warmup, wish,
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

impl Deployment {
    /// Applies a change under the lock, without the models that fail their warm-up.
    pub(super) fn apply_to(
        &self,
        wanted: &mut WantedNames,
        mut plan: CataloguePlan,
        handover: Handover,
    ) -> Result<Applied, DeploymentError> {
        loop {
            let (change, read) = (plan.change.clone(), plan.state.clone());
            match self.try_apply(wanted, plan, handover)? {
                Switched::To(applied) => return Ok(applied),
                Switched::Cold => plan = self.plan_for(wanted, change, read.as_ref())?,
            }
        }
    }

    fn try_apply(
        &self,
        wanted: &mut WantedNames,
        plan: CataloguePlan,
        handover: Handover,
    ) -> Result<Switched, DeploymentError> {
        let running = self.running();
        if plan.from != running.number {
            return Err(DeploymentError::Stale);
        }
        let mut applied = Applied::default();
        if let Some(next) = plan.next {
            let past = past_of(wanted, &running);
            let how = (handover, plan.change.to_string());
            applied = match self.switch(wanted, &running, next, how)? {
                Switched::To(applied) => applied,
                Switched::Cold => return Ok(Switched::Cold),
            };
            let now = entries_of(&self.running());
            match plan.change {
                CatalogueChange::Undo | CatalogueChange::RollBack(_) => {
                    wanted.taken_back.note(&past.entries, &now);
                }
                _ => wanted.taken_back.forget(&now),
            }
            remember(wanted, past, &plan.change);
            self.tell_undoable(wanted);
        }
        if let (Some(source), Some(state)) = (&self.source, &plan.state) {
            source.serves(state);
        }
        self.note_failures(&wanted.failures, &plan.failures);
        (wanted.names, wanted.failures) = (plan.names, plan.failures);
        self.tell(wanted);
        match plan
            .change
            .model()
            .map(|name| (name, wanted.failures.get(name)))
        {
            Some((name, Some(reason))) if matches!(plan.change, CatalogueChange::Load(_)) => {
                Err(DeploymentError::failed(name, reason))
            }
            _ => Ok(Switched::To(applied)),
        }
    }

    fn switch(
        &self,
        wanted: &mut WantedNames,
        running: &Arc<Generation>,
        next: NextCatalogue,
        (handover, why): (Handover, String),
    ) -> Result<Switched, DeploymentError> {
        // Two generations run side by side at most.
        if let Some(retiring) = wanted.retiring.take() {
            retiring.wait(|| self.note(LATE.to_owned()));
        }
        match (handover, &next.not_beside) {
            (Handover::OldFirst, _) => {
                let applied = self.switch_old_first((running, why), &next);
                applied.map(Switched::To)
            }
            (Handover::Beside, Some(room)) => Err(room.clone().into()),
            (Handover::Beside, None) => {
                let started = self.start_next((&**running, why), &next, running.engine.setup())?;
                let before = entries_of(running);
                let cold = warmup::warm_up(&started, &before);
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
        }
    }

    fn start_next(
        &self,
        (before, why): (&Generation, String),
        next: &NextCatalogue,
        ran: Setup,
    ) -> Result<Generation, DeploymentError> {
        let settings = match &next.settings {
            Some(setup) => StartSettings::Again(setup.clone()),
            // The operator has not chosen another policy than the models'.
            None if ran.policy == before.catalogue.models().policy => {
                StartSettings::Policy(next.catalogue.models().policy)
            }
            None => StartSettings::Policy(ran.policy),
        };
        let catalogue = Arc::clone(&next.catalogue);
        let at = (&next.matrix, &next.precisions[..], &settings);
        start_after((before, why), catalogue, &self.devices, at, self.options)
    }

    /// Starts an engine with the setup of the ended one.
    fn start_again(&self, ended: &Generation, ran: Setup) -> Result<Generation, DeploymentError> {
        let catalogue = Arc::clone(&ended.catalogue);
        let settings = StartSettings::Again(Box::new(ran.clone()));
        let at = (&ran.matrix, &ran.precisions[..], &settings);
        let why = "the previous models were restored".into();
        start_after((ended, why), catalogue, &self.devices, at, self.options)
    }

    /// Ends the old engine after its last answer, then starts the new one. Clients wait in between.
    fn switch_old_first(
        &self,
        (running, why): (&Arc<Generation>, String),
        next: &NextCatalogue,
    ) -> Result<Applied, DeploymentError> {
        // Read now, because the policy changes while the engine ends.
        let ran = running.engine.setup();
        let waiting = self.gap.begin();
        let began = Instant::now();
        self.observers.retires(running);
        running.end(&self.leaving, &self.observers);
        let warm = |started: Generation| {
            let cold = warmup::warm_up(&started, &entries_of(running));
            let Some((name, reason)) = cold.iter().next() else {
                return Ok(started);
            };
            started.engine.shutdown();
            Err(DeploymentError::failed(name, reason))
        };
        let started = self.start_next((&**running, why), next, ran.clone());
        let (started, failed) = match started.and_then(warm) {
            Ok(next) => (Ok(next), None),
            Err(error) => (self.start_again(running, ran), Some(error)),
        };
        let started = started.map(|generation| {
            generation.go_on_with(running);
            *self.running.write() = Arc::new(generation);
        });
        let gap = began.elapsed();
        drop(waiting);
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

    fn tell_undoable(&self, wanted: &WantedNames) {
        let bit = |there: bool, bit: u8| if there { bit } else { 0 };
        let (undo, redo) = (wanted.past.to_undo(), wanted.past.to_redo());
        let bits = bit(undo.is_some(), UNDO) | bit(redo.is_some(), REDO);
        self.undoable.store(bits, Ordering::Relaxed);
    }
}

/// Returns the served models, to restore them later.
fn past_of(wanted: &WantedNames, running: &Generation) -> PastCatalogue {
    PastCatalogue {
        names: wanted.names.clone(),
        failures: wanted.failures.clone(),
        entries: entries_of(running),
        setup: running.engine.setup(),
    }
}

fn remember(wanted: &mut WantedNames, past: PastCatalogue, change: &CatalogueChange) {
    match change {
        CatalogueChange::Undo | CatalogueChange::RollBack(_) => wanted.past.undone(past),
        CatalogueChange::Redo => wanted.past.redone(past),
        _ => wanted.past.push(past),
    }
    wanted.past.truncate(MOST_PAST);
}
