//! The change of the served models that an operator requested last: planned, in progress, done or
//! refused.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::deployment::{CatalogueChange, CataloguePreview, ChangePlan, Handover};
use divisi_model::codes::Refusal;

use super::event::ChangeRefusal;
use super::outcomes::ChangeOutcome;

/// The last requested change of the models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelChangeView {
    /// Counted from 1 since the start; never reused.
    pub number: u64,
    /// The change.
    pub change: CatalogueChange,
    /// How far the change has come.
    pub state: ModelChangeState,
}

impl ModelChangeView {
    /// Returns the reason if the change was refused or failed.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.state {
            ModelChangeState::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Returns whether the change is being planned or made.
    pub fn is_under_way(&self) -> bool {
        let state = &self.state;
        matches!(
            state,
            ModelChangeState::Reading | ModelChangeState::UnderWay(_)
        )
    }
}

/// How far a change of the models has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ModelChangeState {
    /// The models are being read and the change planned.
    Reading,
    /// The change is planned; nothing has changed yet.
    Planned(Box<CataloguePreview>),
    /// The change is planned, and the served models already match it.
    Nothing,
    /// The change is being made.
    UnderWay(Handover),
    /// The new models serve.
    Done(ModelsChanged),
    /// The change is not possible or failed, with the reason.
    Refused(Refusal),
    /// The planned change was dropped.
    Dropped,
}

/// The outcome of a change of the models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelsChanged {
    /// The duration of the change.
    pub took: Duration,
    /// The time without newly started requests, if the old engine had to end first.
    pub gap: Option<Duration>,
}

/// The last requested change of the models, with its plan.
#[derive(Debug, Default)]
pub(super) struct ModelRequests {
    view: Option<ModelChangeView>,
    plan: Option<ChangePlan>,
    /// The number of the change that the machine makes for it.
    made_by: Option<u64>,
}

impl ModelRequests {
    /// Returns the last request.
    pub(super) fn view(&self) -> Option<ModelChangeView> {
        self.view.clone()
    }

    /// Begins a request and returns its number.
    ///
    /// # Errors
    /// Another request is being planned or made.
    pub(super) fn begin(
        &mut self,
        change: CatalogueChange,
        state: ModelChangeState,
    ) -> Result<u64, ChangeRefusal> {
        let before = self.view.as_ref();
        if let Some(other) = before.filter(|view| view.is_under_way()) {
            return Err(ChangeRefusal::ModelsChanging(other.change.to_string()));
        }
        let number = before.map_or(1, |view| view.number + 1);
        self.view = Some(ModelChangeView {
            number,
            change,
            state,
        });
        (self.plan, self.made_by) = (None, None);
        Ok(number)
    }

    /// Keeps the plan of a request, unless another one began.
    pub(super) fn planned(&mut self, number: u64, plan: ChangePlan) {
        let preview = Box::new(plan.preview());
        if self.to(number, ModelChangeState::Planned(preview)) {
            self.plan = Some(plan);
        }
    }

    /// Takes the plan of a request, for the `next` state.
    ///
    /// # Errors
    /// No change is planned under this number.
    pub(super) fn take_plan(
        &mut self,
        number: u64,
        next: ModelChangeState,
    ) -> Result<(CatalogueChange, ChangePlan), ChangeRefusal> {
        let planned = self.view.as_mut().filter(|view| view.number == number);
        let view = planned.ok_or(ChangeRefusal::NothingPlanned)?;
        let plan = self.plan.take().ok_or(ChangeRefusal::NothingPlanned)?;
        view.state = next;
        Ok((view.change.clone(), plan))
    }

    /// Records the number of the machine's change that makes the request.
    pub(super) fn begun(&mut self, change: u64) {
        self.made_by = Some(change);
    }

    /// Records the end of a change of the machine. Returns the request that it made, or `None` if
    /// it made none.
    pub(super) fn ended(
        &mut self,
        change: u64,
        outcome: &ChangeOutcome,
    ) -> Option<ModelChangeView> {
        self.made_by.take_if(|made_by| *made_by == change)?;
        let state = match outcome {
            Ok(made) => ModelChangeState::Done(made.changed),
            Err(error) => refused(error.clone().into()),
        };
        let view = self.view.as_mut()?;
        view.state = state;
        Some(view.clone())
    }

    /// Sets the state of a request, unless another one began. Returns whether it is the last one.
    pub(super) fn to(&mut self, number: u64, state: ModelChangeState) -> bool {
        let view = self.view.as_mut().filter(|view| view.number == number);
        view.map(|view| view.state = state).is_some()
    }
}

/// Returns the state of a refused request.
pub(super) fn refused(refusal: ChangeRefusal) -> ModelChangeState {
    ModelChangeState::Refused(refusal.into())
}
