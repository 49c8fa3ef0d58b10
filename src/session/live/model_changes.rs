//! Requested changes of the models, planned or made one at a time, each in its own thread.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use crate::{ModelChangeState, ModelChangeView, ModelsChanged, Refusal, SessionRefusal};
use divisi_engine::changes::Terms;
use divisi_engine::deployment::{
    Applied, CatalogueChange, CataloguePlan, Deployment, DeploymentError, Handover,
};
use divisi_runtime::lock::Leaf;

/// Writes the outcome of a change to the log.
pub(super) type TellOutcome = Box<dyn Fn(&CatalogueChange, &ModelChangeState) + Send>;

/// Pauses (`true`) the built-in load while no engine serves, or resumes it.
pub(super) type HoldLoad = Box<dyn Fn(bool) + Send>;

/// The last change, its plan, and the terms of its probation.
#[derive(Default)]
struct LastChange {
    view: Option<ModelChangeView>,
    plan: Option<CataloguePlan>,
    /// The terms of the probation after the change in progress.
    terms: Option<Terms>,
}

/// Shared handle to the last change.
#[derive(Clone, Default)]
pub(super) struct ModelChanges(Arc<Leaf<LastChange>>);

impl ModelChanges {
    /// Returns the state of the last change.
    pub(super) fn view(&self) -> Option<ModelChangeView> {
        self.0.lock().view.clone()
    }

    /// Returns the probation terms of the models from a change, once.
    pub(super) fn take_terms(&self, by: &str) -> Option<Terms> {
        let mut last = self.0.lock();
        let view = last.view.as_ref();
        let is_it = view.is_some_and(|view| view.change.to_string() == by);
        is_it.then(|| last.terms.take()).flatten()
    }

    /// Plans a change and makes it with both engines side by side. If it is for one generation, it
    /// requires that this generation still runs.
    pub(super) fn make(
        &self,
        deployment: &Arc<Deployment>,
        (change, of): (CatalogueChange, Option<u64>),
        told: TellOutcome,
    ) -> Result<(), Refusal> {
        let state = ModelChangeState::UnderWay(Handover::Beside);
        let number = self.begin(change.clone(), state)?;
        let (deployment, this) = (Arc::clone(deployment), self.clone());
        self.spawn(move || {
            let began = Instant::now();
            let is_late =
                |plan: &CataloguePlan| of.is_some_and(|number| plan.from_generation() != number);
            let planned = deployment.plan(change.clone());
            let planned = planned.and_then(|plan| match is_late(&plan) {
                true => Err(DeploymentError::Stale),
                false => Ok(plan),
            });
            let made = planned.and_then(|plan| match plan.is_empty() {
                true => deployment.apply(plan, Handover::Beside).map(|_| None),
                false => deployment.apply(plan, Handover::Beside).map(Some),
            });
            let state = match made {
                Ok(Some(applied)) => done(began, applied),
                Ok(None) => ModelChangeState::Nothing,
                Err(error) => ModelChangeState::Refused(error.into()),
            };
            told(&change, &state);
            this.to(number, state);
        })
    }

    /// Plans a change without making it.
    pub(super) fn plan(
        &self,
        deployment: &Arc<Deployment>,
        change: CatalogueChange,
        told: TellOutcome,
    ) -> Result<(), Refusal> {
        let number = self.begin(change.clone(), ModelChangeState::Reading)?;
        let (deployment, this) = (Arc::clone(deployment), self.clone());
        self.spawn(move || {
            let state = match deployment.plan(change.clone()) {
                // All models stay the same; the deployment notes why a model cannot be read.
                Ok(plan) if plan.is_empty() => match deployment.apply(plan, Handover::Beside) {
                    Ok(_) => ModelChangeState::Nothing,
                    Err(error) => ModelChangeState::Refused(error.into()),
                },
                Ok(plan) => {
                    let preview = Box::new(plan.preview());
                    this.keep_plan(number, plan);
                    ModelChangeState::Planned(preview)
                }
                Err(error) => ModelChangeState::Refused(error.into()),
            };
            told(&change, &state);
            this.to(number, state);
        })
    }

    fn keep_plan(&self, number: u64, plan: CataloguePlan) {
        let mut last = self.0.lock();
        let view = last.view.as_ref();
        // Another change may have started meanwhile.
        if view.is_some_and(|view| view.number == number) {
            last.plan = Some(plan);
        }
    }

    /// Makes the planned change with this number.
    pub(super) fn apply(
        &self,
        deployment: &Arc<Deployment>,
        number: u64,
        (handover, terms): (Handover, Option<Terms>),
        hold: HoldLoad,
        told: TellOutcome,
    ) -> Result<(), Refusal> {
        let plan = self.take_plan(number, ModelChangeState::UnderWay(handover))?;
        self.0.lock().terms = terms;
        let (deployment, this) = (Arc::clone(deployment), self.clone());
        self.spawn(move || {
            let began = Instant::now();
            let change = plan.change().clone();
            let waits = handover == Handover::OldFirst;
            hold(waits);
            let state = match deployment.apply(plan, handover) {
                Ok(applied) => done(began, applied),
                Err(error) => {
                    this.0.lock().terms = None;
                    ModelChangeState::Refused(error.into())
                }
            };
            hold(false);
            told(&change, &state);
            this.to(number, state);
        })
    }

    /// Drops the planned change with this number.
    pub(super) fn drop_plan(&self, number: u64) -> Result<(), Refusal> {
        self.take_plan(number, ModelChangeState::Dropped).map(drop)
    }

    fn take_plan(&self, number: u64, next: ModelChangeState) -> Result<CataloguePlan, Refusal> {
        let mut last = self.0.lock();
        let LastChange { view, plan, .. } = &mut *last;
        let planned = view.as_mut().filter(|view| view.number == number);
        match (planned, plan.take()) {
            (Some(view), Some(plan)) => {
                view.state = next;
                Ok(plan)
            }
            (_, other) => {
                *plan = other;
                Err(SessionRefusal::NothingPlanned.into())
            }
        }
    }

    fn begin(&self, change: CatalogueChange, state: ModelChangeState) -> Result<u64, Refusal> {
        let mut last = self.0.lock();
        let before = last.view.as_ref();
        // A rollback does not wait: the change that did worse is about to finish.
        let waits = !matches!(change, CatalogueChange::RollBack(_));
        if let Some(other) = before.filter(|view| waits && view.is_under_way()) {
            return Err(SessionRefusal::ModelsChanging(other.change.to_string()).into());
        }
        let number = before.map_or(1, |view| view.number + 1);
        let view = ModelChangeView {
            number,
            change,
            state,
        };
        let next = LastChange {
            view: Some(view),
            ..LastChange::default()
        };
        let before = std::mem::replace(&mut *last, next);
        drop(last);
        // The plan may be large, so it is dropped without the lock.
        drop(before);
        Ok(number)
    }

    fn to(&self, number: u64, state: ModelChangeState) {
        let mut last = self.0.lock();
        if let Some(view) = last.view.as_mut().filter(|view| view.number == number) {
            view.state = state;
        }
    }

    fn spawn(&self, work: impl FnOnce() + Send + 'static) -> Result<(), Refusal> {
        let thread = thread::Builder::new().name("models".into());
        match thread.spawn(work) {
            Ok(_) => Ok(()),
            Err(error) => {
                let refusal = Refusal::from(SessionRefusal::Thread(error));
                if let Some(view) = &mut self.0.lock().view {
                    view.state = ModelChangeState::Refused(refusal.clone());
                }
                Err(refusal)
            }
        }
    }
}

fn done(began: Instant, applied: Applied) -> ModelChangeState {
    ModelChangeState::Done(ModelsChanged {
        took: began.elapsed(),
        gap: applied.gap,
    })
}
